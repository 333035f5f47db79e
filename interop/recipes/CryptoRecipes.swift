import GatewayTesting

/// What devices derive from a key. The numbers are those of the test vectors that Google published for version 1.2 of the
/// specification of Exposure Notification.
let cryptoRecipes: [Recipe] = [
  Recipe(
    "crypto/rolling_proximity_identifiers",
    "a key, what is derived from it, and identifiers with the metadata of version 1.0 and 8 dBm", format: "none",
    .text(
      """
      tek 75c734c6dd1a782de7a965da5eb93125
      rpik 185ad91db69ec7dd048960f1f3ba6175
      aemk d57c46af7a1d83965b9bed8bd152936a
      metadata 40080000
      identifier 2642976 8be6cd371c5c891604bfbe49df845096 72033874
      identifier 2642977 3c9a1de5dd6b02afa7fded7b570b3e56 c29211b1
      identifier 2642978 243ffe9a3b08bded3094bac8630bb8ad 6adfad03
      identifier 2643047 416ffc7a32fcfda9a316d01790e31945 c122ad68
      identifier 2643048 c19a30c39c9c3a089bcadde1c6699447 340aa382
      identifier 2643119 f431b62ecf443102ce4ed0407de54bd4 1215e57e

      """))
]
