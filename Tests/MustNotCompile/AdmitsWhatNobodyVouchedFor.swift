// Nobody's keys are admitted by forgetting who vouches for them.
// expect: missing argument for parameter 'of' in call
import BundleTrust
import ExposureKeys
import KeyNormalization

func admission(now: Instant) -> Admission {
  #if MISTAKE
    Admission(from: Sender(name: "peer"), policy: ReadingPolicy(), now: now)
  #else
    Admission(of: .assertedByOperator(), from: Sender(name: "peer"), policy: ReadingPolicy(), now: now)
  #endif
}
