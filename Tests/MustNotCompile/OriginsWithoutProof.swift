// That the origins have signed their keys is said by what checks their signatures: a proof is made of verified signers alone.
// expect: missing argument for parameter #1 in call
import BundleTrust

func verified() -> VerifiedDocument {
  #if MISTAKE
    .origins(OriginsProof())
  #else
    .assertedByOperator()
  #endif
}
