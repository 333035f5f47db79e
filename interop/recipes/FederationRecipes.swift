import GatewayTesting

/// What a federation's batch signature covers. The numbers of the worked example were compared with the EU federation
/// gateway's own; the others are those of `interop/federation/canonical.py`.
let federationRecipes: [Recipe] = [
  Recipe(
    "federation/worked_example",
    "the second key comes first: rows sort by the base64 of the row, and neither by key data, nor by its base64, nor by the row",
    format: "none",
    .text(
      """
      key 000102030405060708090a0b0c0d0e0f 2676096 144 5 DE 1 3986 ["DE","IT"]
      key 08090a0b0c0d0e0f1011121314151617 2676240 72 2147483647 DE 2 -3 []
      row f5a310a54113a7be5de5f5f1349f22abecde7771862a281b52784d64127c0454
      row 771ed6c1f630a1179f0c1c34b4a167af6d2050a1cab75ca5ca0e2c81ca35a5e0
      canonical 390d7bb0121e55da4600a20b2fffec490f56de1ae94eead010fbb949af03d4cf 160

      """)),
  Recipe(
    "federation/same_key_data",
    "four keys with the same key data, two of them alike: the rows agree for a while, and repeated ones stay",
    format: "none",
    .text(
      """
      key ffffffffffffffffffffffffffffffff 2676240 144 3 FR 1 4 ["DE"]
      key ffffffffffffffffffffffffffffffff 2676240 144 3 FR 1 -4 ["DE"]
      key ffffffffffffffffffffffffffffffff 2676240 144 3 FR 1 4 ["DE","AT"]
      key ffffffffffffffffffffffffffffffff 2676240 144 3 FR 1 4 ["DE"]
      row 2249634b60f3ff282d1260d6f12cbf0600aea2ac17be04190f0880940e8fab03
      row b636aabf3ad90a81711b0d09d59f26e442bf753d8186b25b5509a678041dc8af
      row b636aabf3ad90a81711b0d09d59f26e442bf753d8186b25b5509a678041dc8af
      row 6ed2e73b0b6a1dd7b68492bb86d506755544f3205d700dfb5203d928d9a068ff
      canonical 4fdaff2679ea53349c7fa3d4217680fb5070b0ad8501dac08ec909eb5daec1e3 324

      """)),
  Recipe(
    "federation/extremes",
    "the smallest and the largest numbers, in two's complement", format: "none",
    .text(
      """
      key 00000000000000000000000000000000 -2147483648 -1 -2147483648 FR 6 -2147483648 ["FR"]
      key fbefbefbefbefbefbefbefbefbefbefb 2147483647 0 0 FR 0 2147483647 []
      row 9fe371be907358133c4c3df3614b7d2eb9b7efb124c51c525399ce99811ca0c1
      row 62ae08f8c911182598b98f7515a1573797cccc9e6516e35602cb80b8103c1d39
      canonical f3642fc25cec7ebffdc102022383ed7e0a6c0407744b27399513755c0a181f52 156

      """)),
  Recipe(
    "federation/order_of_countries",
    "the visited countries stand in the order of the upload, and each as often as there", format: "none",
    .text(
      """
      key 00112233445566778899aabbccddeeff 2676240 144 3 FR 1 0 ["IT","DE","IT"]
      row d22a7c1d7ec597cb3286f8ec76e91d6007e4900bb55b87f046201b08bc43d9de
      canonical d22a7c1d7ec597cb3286f8ec76e91d6007e4900bb55b87f046201b08bc43d9de 88

      """)),
  Recipe(
    "federation/ambiguous",
    "sets of regions that are signed alike two by two: a comma and two regions, an empty one and none, a letter that is not ASCII and a question mark",
    format: "none",
    .text(
      """
      key 01010101010101010101010101010101 2676240 144 3 FR 1 0 ["DE,IT"]
      key 01010101010101010101010101010101 2676240 144 3 FR 1 0 ["DE","IT"]
      key 02020202020202020202020202020202 2676240 144 3 FR 1 0 [""]
      key 02020202020202020202020202020202 2676240 144 3 FR 1 0 []
      key 03030303030303030303030303030303 2676240 144 3 FR 1 0 ["Ö"]
      key 03030303030303030303030303030303 2676240 144 3 FR 1 0 ["?"]
      row d78226436f79add76982bdb96e572409f53adb189ae24b5dfa837da262f60ace
      row d78226436f79add76982bdb96e572409f53adb189ae24b5dfa837da262f60ace
      row a82bc9f0d5fcbf748ff5231754359ef972d46ac22b34bf9c4a38c9c006072104
      row a82bc9f0d5fcbf748ff5231754359ef972d46ac22b34bf9c4a38c9c006072104
      row 159ac4cc21e3364a94d56eba017a29a4a3dc30e1ae9f9636477c13a3bfbfe7e3
      row 159ac4cc21e3364a94d56eba017a29a4a3dc30e1ae9f9636477c13a3bfbfe7e3
      canonical 3079ea1ccfb0b20de5883604b32eee4d42ed3305869aedf70f8c427b74bcf5eb 480

      """)),
  Recipe(
    "federation/empty",
    "no key: no canonical byte", format: "none",
    .text(
      """
      canonical e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0

      """)),
]
