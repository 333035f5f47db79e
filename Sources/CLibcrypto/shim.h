#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/sha.h>
#include <openssl/x509.h>

// What OpenSSL has as macros alone.
static inline int keyferry_certificates_count(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *keyferry_certificates_value(const STACK_OF(X509) *stack, int index) {
  return sk_X509_value(stack, index);
}
static inline STACK_OF(X509) *keyferry_certificates_new(void) { return sk_X509_new_null(); }
// The stack does not own what is pushed to it.
static inline int keyferry_certificates_push(STACK_OF(X509) *stack, X509 *certificate) {
  return sk_X509_push(stack, certificate);
}
static inline void keyferry_certificates_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }
static inline int keyferry_signers_count(const STACK_OF(CMS_SignerInfo) *stack) { return sk_CMS_SignerInfo_num(stack); }
static inline CMS_SignerInfo *keyferry_signers_value(const STACK_OF(CMS_SignerInfo) *stack, int index) {
  return sk_CMS_SignerInfo_value(stack, index);
}
static inline void keyferry_text_free(unsigned char *text) { OPENSSL_free(text); }
static inline int keyferry_print_name(BIO *bio, const X509_NAME *name) {
  return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253);
}

// One block on a saved state, which no other call of libcrypto can do at a third of the cost; OpenSSL 3 calls it deprecated.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline void keyferry_sha256_block(SHA256_CTX *state, const unsigned char *block) { SHA256_Transform(state, block); }
#pragma GCC diagnostic pop
