// That the origins have signed their keys is said by what checks their signatures, which nothing else can pretend.
// expect: 'OriginsProof' initializer is inaccessible due to 'internal' protection level
import BundleTrust

func verified() -> VerifiedDocument {
  #if MISTAKE
    .origins(OriginsProof())
  #else
    .assertedByOperator()
  #endif
}
