--
-- PostgreSQL database dump
--

-- Dumped from database version 11.8
-- Dumped by pg_dump version 12.4

SET statement_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);

SET default_tablespace = '';

--
-- Name: diagnosis_key; Type: TABLE; Schema: public; Owner: local_setup
--

CREATE TABLE public.diagnosis_key (
    key_data bytea NOT NULL,
    rolling_start_interval_number integer NOT NULL,
    rolling_period integer NOT NULL,
    submission_timestamp bigint NOT NULL,
    transmission_risk_level integer,
    consent_to_federation boolean DEFAULT false NOT NULL,
    origin_country character varying(2),
    visited_countries character varying(2)[],
    report_type character varying(50),
    days_since_onset_of_symptoms integer,
    CONSTRAINT chk_key_data_length CHECK ((octet_length(key_data) = 16))
);


ALTER TABLE public.diagnosis_key OWNER TO local_setup;

INSERT INTO public.diagnosis_key VALUES ('\xbc1d5d15c8f57a913f86e7edd0dfc7bf', 2676384, 144, 445056, 5, true, 'ES', '{AT,DK}', 'SELF_REPORT', 6);
INSERT INTO public.diagnosis_key VALUES ('\x07975e1f6bb5196cbc71bf2764d5ae7c', 2677248, 144, 445056, 3, true, 'IT', '{AT,DK}', 'CONFIRMED_CLINICAL_DIAGNOSIS', 2);
INSERT INTO public.diagnosis_key VALUES ('\x35e39f86d4bc0a1b2c8433b188137d32', 2676960, 144, 445056, 7, true, 'DE', '{BE,DK}', 'SELF_REPORT', 9);
INSERT INTO public.diagnosis_key VALUES ('\x0e49d65b2c048de51e8d923d76201dc4', 2676816, 144, 445056, 2, true, 'IT', '{AT,DK}', 'SELF_REPORT', 4);
INSERT INTO public.diagnosis_key VALUES ('\x794c59d9e7f81e268803c852a562d243', 2677536, 144, 445056, 5, true, 'ES', '{AT,DK}', 'CONFIRMED_TEST', 11);
INSERT INTO public.diagnosis_key VALUES ('\x79aa7e5f28961a0911140277ee6a6fe6', 2677392, 144, 445056, 6, true, 'IT', '{AT,DK}', 'CONFIRMED_TEST', 8);
INSERT INTO public.diagnosis_key VALUES ('\x5d496326522f8d503a19f22908c688e5', 2676240, 144, 445056, 2, true, 'ES', '{BE,DK}', 'CONFIRMED_TEST', 11);
INSERT INTO public.diagnosis_key VALUES ('\x904e348d97517a342bc70b5118bdb85c', 2677392, 144, 445056, 7, true, 'PL', '{BE,DK}', 'CONFIRMED_CLINICAL_DIAGNOSIS', 9);
INSERT INTO public.diagnosis_key VALUES ('\xaab0f4d67ee847364401024859cedf8b', 2677968, 144, 445056, 2, true, 'ES', '{AT,DK}', 'REVOKED', -1);


--
-- PostgreSQL database dump complete
--

