// libcrypto takes as long to load as half a start.
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/x509.h>

#define LIBRARY "libcrypto.so.3"
#define PACKAGE "libssl3"
#define FUNCTIONS(F) \
  F(int, ASN1_STRING_to_UTF8, (unsigned char **a, const ASN1_STRING *b), (a, b)) \
  F(void, ASN1_TIME_free, (ASN1_TIME *a), (a)) \
  F(ASN1_TIME *, ASN1_TIME_set, (ASN1_TIME *a, time_t b), (a, b)) \
  F(int, ASN1_TIME_to_tm, (const ASN1_TIME *a, struct tm *b), (a, b)) \
  F(int, BIO_free, (BIO *a), (a)) \
  F(BIO *, BIO_new, (const BIO_METHOD *a), (a)) \
  F(BIO *, BIO_new_mem_buf, (const void *a, int b), (a, b)) \
  F(int, BIO_read, (BIO *a, void *b, int c), (a, b, c)) \
  F(const BIO_METHOD *, BIO_s_mem, (void), ()) \
  F(void, CMS_ContentInfo_free, (CMS_ContentInfo *a), (a)) \
  F(int, CMS_SignerInfo_cert_cmp, (CMS_SignerInfo *a, X509 *b), (a, b)) \
  F(CMS_SignerInfo *, CMS_add1_signer, \
    (CMS_ContentInfo *a, X509 *b, EVP_PKEY *c, const EVP_MD *d, unsigned int e), (a, b, c, d, e)) \
  F(int, CMS_final, (CMS_ContentInfo *a, BIO *b, BIO *c, unsigned int d), (a, b, c, d)) \
  F(struct stack_st_CMS_SignerInfo *, CMS_get0_SignerInfos, (CMS_ContentInfo *a), (a)) \
  F(struct stack_st_X509 *, CMS_get0_signers, (CMS_ContentInfo *a), (a)) \
  F(const ASN1_OBJECT *, CMS_get0_type, (const CMS_ContentInfo *a), (a)) \
  F(CMS_ContentInfo *, CMS_sign, \
    (X509 *a, EVP_PKEY *b, struct stack_st_X509 *c, BIO *d, unsigned int e), (a, b, c, d, e)) \
  F(int, CMS_signed_add1_attr_by_NID, (CMS_SignerInfo *a, int b, int c, const void *d, int e), (a, b, c, d, e)) \
  F(int, CMS_verify, \
    (CMS_ContentInfo *a, struct stack_st_X509 *b, X509_STORE *c, BIO *d, BIO *e, unsigned int f), (a, b, c, d, e, f)) \
  F(void, CRYPTO_free, (void *a, const char *b, int c), (a, b, c)) \
  F(void, ERR_clear_error, (void), ()) \
  F(unsigned long, ERR_get_error, (void), ()) \
  F(const char *, ERR_reason_error_string, (unsigned long a), (a)) \
  F(int, EVP_DigestSign, \
    (EVP_MD_CTX *a, unsigned char *b, size_t *c, const unsigned char *d, size_t e), (a, b, c, d, e)) \
  F(int, EVP_DigestSignInit, \
    (EVP_MD_CTX *a, EVP_PKEY_CTX **b, const EVP_MD *c, ENGINE *d, EVP_PKEY *e), (a, b, c, d, e)) \
  F(int, EVP_DigestVerify, \
    (EVP_MD_CTX *a, const unsigned char *b, size_t c, const unsigned char *d, size_t e), (a, b, c, d, e)) \
  F(int, EVP_DigestVerifyInit, \
    (EVP_MD_CTX *a, EVP_PKEY_CTX **b, const EVP_MD *c, ENGINE *d, EVP_PKEY *e), (a, b, c, d, e)) \
  F(void, EVP_MD_CTX_free, (EVP_MD_CTX *a), (a)) \
  F(EVP_MD_CTX *, EVP_MD_CTX_new, (void), ()) \
  F(void, EVP_PKEY_free, (EVP_PKEY *a), (a)) \
  F(int, EVP_PKEY_get_base_id, (const EVP_PKEY *a), (a)) \
  F(int, EVP_PKEY_get_bits, (const EVP_PKEY *a), (a)) \
  F(int, EVP_PKEY_get_group_name, (const EVP_PKEY *a, char *b, size_t c, size_t *d), (a, b, c, d)) \
  F(const EVP_MD *, EVP_get_digestbyname, (const char *a), (a)) \
  F(const EVP_MD *, EVP_sha256, (void), ()) \
  F(int, OBJ_find_sigid_algs, (int a, int *b, int *c), (a, b, c)) \
  F(const char *, OBJ_nid2sn, (int a), (a)) \
  F(int, OBJ_obj2nid, (const ASN1_OBJECT *a), (a)) \
  F(void, OPENSSL_sk_free, (OPENSSL_STACK *a), (a)) \
  F(OPENSSL_STACK *, OPENSSL_sk_new_null, (void), ()) \
  F(int, OPENSSL_sk_num, (const OPENSSL_STACK *a), (a)) \
  F(int, OPENSSL_sk_push, (OPENSSL_STACK *a, const void *b), (a, b)) \
  F(void *, OPENSSL_sk_value, (const OPENSSL_STACK *a, int b), (a, b)) \
  F(ASN1_STRING *, X509_NAME_ENTRY_get_data, (const X509_NAME_ENTRY *a), (a)) \
  F(X509_NAME_ENTRY *, X509_NAME_get_entry, (const X509_NAME *a, int b), (a, b)) \
  F(int, X509_NAME_get_index_by_NID, (const X509_NAME *a, int b, int c), (a, b, c)) \
  F(int, X509_NAME_print_ex, (BIO *a, const X509_NAME *b, int c, unsigned long d), (a, b, c, d)) \
  F(int, X509_check_private_key, (const X509 *a, const EVP_PKEY *b), (a, b)) \
  F(void, X509_free, (X509 *a), (a)) \
  F(const ASN1_TIME *, X509_get0_notAfter, (const X509 *a), (a)) \
  F(const ASN1_TIME *, X509_get0_notBefore, (const X509 *a), (a)) \
  F(EVP_PKEY *, X509_get0_pubkey, (const X509 *a), (a)) \
  F(int, X509_get_signature_nid, (const X509 *a), (a)) \
  F(X509_NAME *, X509_get_subject_name, (const X509 *a), (a)) \
  F(EVP_PKEY *, d2i_AutoPrivateKey, (EVP_PKEY **a, const unsigned char **b, long c), (a, b, c)) \
  F(CMS_ContentInfo *, d2i_CMS_ContentInfo, (CMS_ContentInfo **a, const unsigned char **b, long c), (a, b, c)) \
  F(X509 *, d2i_X509, (X509 **a, const unsigned char **b, long c), (a, b, c)) \
  F(int, i2d_CMS_ContentInfo, (const CMS_ContentInfo *a, unsigned char **b), (a, b)) \
  F(int, i2d_X509, (const X509 *a, unsigned char **b), (a, b))

#include "Lazy.h"
