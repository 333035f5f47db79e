// A claim's source tells who vouched for it; there is no default.
// expect: missing argument for parameter 'provenance' in call
import BundleTrust
import KeyNormalization

func source() -> Source {
  #if MISTAKE
    Source(name: "peer")
  #else
    Source(Sender(name: "peer"), vouchedForBy: .assertedByOperator())
  #endif
}
