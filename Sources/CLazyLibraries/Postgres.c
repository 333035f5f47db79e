// libpq brings twenty other libraries: Kerberos, LDAP, TLS. Where the program was built without PostgreSQL its header is not found, and
// nothing is here.
#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>

#define LIBRARY "libpq.so.5"
#define PACKAGE "libpq5"
#define FUNCTIONS(F) \
  F(int, PQbackendPID, (const PGconn *a), (a)) \
  F(void, PQclear, (PGresult *a), (a)) \
  F(char *, PQcmdStatus, (PGresult *a), (a)) \
  F(char *, PQcmdTuples, (PGresult *a), (a)) \
  F(PGconn *, PQconnectdbParams, (const char *const *a, const char *const *b, int c), (a, b, c)) \
  F(void, PQconninfoFree, (PQconninfoOption *a), (a)) \
  F(PQconninfoOption *, PQconninfoParse, (const char *a, char **b), (a, b)) \
  F(int, PQconsumeInput, (PGconn *a), (a)) \
  F(char *, PQerrorMessage, (const PGconn *a), (a)) \
  F(int, PQfformat, (const PGresult *a, int b), (a, b)) \
  F(void, PQfinish, (PGconn *a), (a)) \
  F(int, PQflush, (PGconn *a), (a)) \
  F(char *, PQfname, (const PGresult *a, int b), (a, b)) \
  F(void, PQfreemem, (void *a), (a)) \
  F(Oid, PQftype, (const PGresult *a, int b), (a, b)) \
  F(int, PQgetisnull, (const PGresult *a, int b, int c), (a, b, c)) \
  F(int, PQgetlength, (const PGresult *a, int b, int c), (a, b, c)) \
  F(PGresult *, PQgetResult, (PGconn *a), (a)) \
  F(char *, PQgetvalue, (const PGresult *a, int b, int c), (a, b, c)) \
  F(int, PQisBusy, (PGconn *a), (a)) \
  F(int, PQlibVersion, (void), ()) \
  F(int, PQnfields, (const PGresult *a), (a)) \
  F(int, PQntuples, (const PGresult *a), (a)) \
  F(char *, PQresultErrorField, (const PGresult *a, int b), (a, b)) \
  F(char *, PQresultErrorMessage, (const PGresult *a), (a)) \
  F(ExecStatusType, PQresultStatus, (const PGresult *a), (a)) \
  F(int, PQsendQuery, (PGconn *a, const char *b), (a, b)) \
  F(int, PQsendQueryParams, \
    (PGconn *a, const char *b, int c, const Oid *d, const char *const *e, const int *f, const int *g, int h), \
    (a, b, c, d, e, f, g, h)) \
  F(int, PQserverVersion, (const PGconn *a), (a)) \
  F(int, PQsetClientEncoding, (PGconn *a, const char *b), (a, b)) \
  F(int, PQsetnonblocking, (PGconn *a, int b), (a, b)) \
  F(PQnoticeProcessor, PQsetNoticeProcessor, (PGconn *a, PQnoticeProcessor b, void *c), (a, b, c)) \
  F(int, PQsocket, (const PGconn *a), (a)) \
  F(int, PQsslInUse, (PGconn *a), (a)) \
  F(ConnStatusType, PQstatus, (const PGconn *a), (a)) \
  F(PGTransactionStatusType, PQtransactionStatus, (const PGconn *a), (a))

#include "Lazy.h"
#endif
