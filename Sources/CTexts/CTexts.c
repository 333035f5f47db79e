#include "CTexts.h"

// The package manager compiles C as of 2017.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char openapi[] = {
#embed "../../schemas/openapi.json"
};

const char *keyferry_openapi(void) { return openapi; }
size_t keyferry_openapi_length(void) { return sizeof openapi; }

// The default first, the others by name.
static const char default_[] = {
#embed "../PolicyFiles/Policies/default.yaml"
};
static const char corona_warn_app[] = {
#embed "../PolicyFiles/Policies/corona-warn-app.yaml"
};
static const char coronamelder[] = {
#embed "../PolicyFiles/Policies/coronamelder.yaml"
};
static const char efgs[] = {
#embed "../PolicyFiles/Policies/efgs.yaml"
};
static const char google_key_server[] = {
#embed "../PolicyFiles/Policies/google-key-server.yaml"
};
static const char immuni[] = {
#embed "../PolicyFiles/Policies/immuni.yaml"
};
static const char koronavilkku[] = {
#embed "../PolicyFiles/Policies/koronavilkku.yaml"
};
static const char nhs[] = {
#embed "../PolicyFiles/Policies/nhs.yaml"
};
static const char radar_covid[] = {
#embed "../PolicyFiles/Policies/radar-covid.yaml"
};
static const char smittestopp[] = {
#embed "../PolicyFiles/Policies/smittestopp.yaml"
};
static const char swisscovid[] = {
#embed "../PolicyFiles/Policies/swisscovid.yaml"
};

static const struct {
  const char *name, *text;
  size_t length;
} policies[] = {
    {"default", default_, sizeof default_},
    {"corona-warn-app", corona_warn_app, sizeof corona_warn_app},
    {"coronamelder", coronamelder, sizeof coronamelder},
    {"efgs", efgs, sizeof efgs},
    {"google-key-server", google_key_server, sizeof google_key_server},
    {"immuni", immuni, sizeof immuni},
    {"koronavilkku", koronavilkku, sizeof koronavilkku},
    {"nhs", nhs, sizeof nhs},
    {"radar-covid", radar_covid, sizeof radar_covid},
    {"smittestopp", smittestopp, sizeof smittestopp},
    {"swisscovid", swisscovid, sizeof swisscovid},
};

size_t keyferry_policy_count(void) { return sizeof policies / sizeof policies[0]; }
const char *keyferry_policy_name(size_t index) { return policies[index].name; }
const char *keyferry_policy(size_t index) { return policies[index].text; }
size_t keyferry_policy_length(size_t index) { return policies[index].length; }
