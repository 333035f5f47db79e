/// Certificates and keys for tests, made for this project and trusted by nobody: P-256, signed by themselves, valid from 2020 to
/// 2040.
package struct TestCertificate: Sendable {
  package let pem: String
  package let keyPEM: String

  /// Of a federation's operator, whose signature stands under every certificate of its list.
  package static let anchor = named[0]
  /// What signs batches, by country.
  package static let netherlands = named[1]
  package static let germany = named[2]
  package static let france = named[3]

  private static let named: [TestCertificate] = [
    TestCertificate(
      pem: """
        -----BEGIN CERTIFICATE-----
        MIIBRDCB66ADAgECAgEBMAoGCCqGSM49BAMCMCwxCzAJBgNVBAYTAkVVMR0wGwYD
        VQQDDBRLZXlmZXJyeSB0ZXN0IGFuY2hvcjAeFw0yMDAxMDEwMDAwMDBaFw00MDAx
        MDEwMDAwMDBaMCwxCzAJBgNVBAYTAkVVMR0wGwYDVQQDDBRLZXlmZXJyeSB0ZXN0
        IGFuY2hvcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIbgFYRlS3Al1xJTPuzF
        A6J0fg3n/Hc4qvhxtnwnlY9iArPStitPW4iHZsgbU+TZ49Vdwdiamg4Dk6ZgL6Vv
        fEYwCgYIKoZIzj0EAwIDSAAwRQIgGPAml8MP3HNyPzSIb5VXBupFRoI6e1fV0Iox
        aUcORzMCIQD7uiEoxH32mIvGoyzbH7m2RRMKT7O0D5Uw2IhIwP1F2Q==
        -----END CERTIFICATE-----

        """,
      keyPEM: """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgA+f/E7hOCCYgDqLl
        Ed5BjBx4fyW2bb1ff7kqccO7RnahRANCAASG4BWEZUtwJdcSUz7sxQOidH4N5/x3
        OKr4cbZ8J5WPYgKz0rYrT1uIh2bIG1Pk2ePVXcHYmpoOA5OmYC+lb3xG
        -----END PRIVATE KEY-----

        """),
    TestCertificate(
      pem: """
        -----BEGIN CERTIFICATE-----
        MIIBTDCB86ADAgECAgECMAoGCCqGSM49BAMCMDAxCzAJBgNVBAYTAk5MMSEwHwYD
        VQQDDBhLZXlmZXJyeSB0ZXN0IHNpZ25pbmcgTkwwHhcNMjAwMTAxMDAwMDAwWhcN
        NDAwMTAxMDAwMDAwWjAwMQswCQYDVQQGEwJOTDEhMB8GA1UEAwwYS2V5ZmVycnkg
        dGVzdCBzaWduaW5nIE5MMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEq2Y6qtRv
        NGEIse8DSx7ZrKG2J4RHl3AiFpjLOxrvJJspqx+M7mM35qCv6iiDBoipDRgHst/A
        F9aZXyqRBxyz6jAKBggqhkjOPQQDAgNIADBFAiEA3C1Mt5ck4UYqeiERPSPEAx/r
        ktmA8O0JmvGmUUBnPm8CIHly02IegIzY67ipNYbD/TzjohaOCGK7dZCGV76zPQqq
        -----END CERTIFICATE-----

        """,
      keyPEM: """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgxSnBufwBQbZahWeT
        fHtOaU89bahgoF557+JfvtnZLKehRANCAASrZjqq1G80YQix7wNLHtmsobYnhEeX
        cCIWmMs7Gu8kmymrH4zuYzfmoK/qKIMGiKkNGAey38AX1plfKpEHHLPq
        -----END PRIVATE KEY-----

        """),
    TestCertificate(
      pem: """
        -----BEGIN CERTIFICATE-----
        MIIBSzCB86ADAgECAgEDMAoGCCqGSM49BAMCMDAxCzAJBgNVBAYTAkRFMSEwHwYD
        VQQDDBhLZXlmZXJyeSB0ZXN0IHNpZ25pbmcgREUwHhcNMjAwMTAxMDAwMDAwWhcN
        NDAwMTAxMDAwMDAwWjAwMQswCQYDVQQGEwJERTEhMB8GA1UEAwwYS2V5ZmVycnkg
        dGVzdCBzaWduaW5nIERFMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEoWBzgBTv
        DTRinSR2Ubf/pwYM/jjFnIIbY5vlZoqZ+K2z44p9DA0ADg0EH9woVvi5FYV4aCyh
        13LKBQ3UYegKMDAKBggqhkjOPQQDAgNHADBEAiBAYqVV+nr1o0T6DhpDnephGVy3
        qfWuuhwkN6tZleLKfwIgDr9+G9y6YzvxHxzx9mzKRr7IWvIuT5rDLb/OpYGSIGw=
        -----END CERTIFICATE-----

        """,
      keyPEM: """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQLVrR7PtsyQO6Yrp
        gGOfNi5rhZON6ZmsGudlxR8pO12hRANCAAShYHOAFO8NNGKdJHZRt/+nBgz+OMWc
        ghtjm+Vmipn4rbPjin0MDQAODQQf3ChW+LkVhXhoLKHXcsoFDdRh6Aow
        -----END PRIVATE KEY-----

        """),
    TestCertificate(
      pem: """
        -----BEGIN CERTIFICATE-----
        MIIBTTCB86ADAgECAgEEMAoGCCqGSM49BAMCMDAxCzAJBgNVBAYTAkZSMSEwHwYD
        VQQDDBhLZXlmZXJyeSB0ZXN0IHNpZ25pbmcgRlIwHhcNMjAwMTAxMDAwMDAwWhcN
        NDAwMTAxMDAwMDAwWjAwMQswCQYDVQQGEwJGUjEhMB8GA1UEAwwYS2V5ZmVycnkg
        dGVzdCBzaWduaW5nIEZSMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqKIZ3slY
        dH1ij6y4gHcHytp15XgBqs4e1GEIIJuhOLgLOpo4lFxKYjydkT5bQ3FdMEOohPWc
        E4ThFSm5/8cScjAKBggqhkjOPQQDAgNJADBGAiEAgTZPHvIle1i4z6mqvwl9hT3E
        0XJHspsDgOz+pyk9EWUCIQD8mlO/nBQTfHtLxxZKKQqH4n+12Dkd1tCR2wj0AQQb
        fg==
        -----END CERTIFICATE-----

        """,
      keyPEM: """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6NYUxsHamnz8I8dt
        tptjm4X6Kfdx1ZwW2hExyrmeeeGhRANCAASoohneyVh0fWKPrLiAdwfK2nXleAGq
        zh7UYQggm6E4uAs6mjiUXEpiPJ2RPltDcV0wQ6iE9ZwThOEVKbn/xxJy
        -----END PRIVATE KEY-----

        """),
  ]
}
