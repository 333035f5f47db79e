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

INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x11b66eb41eebfa21b58463dcd406dc43', 2676384, 123, 445056, NULL, true, NULL, NULL, NULL, NULL);
INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x9cb67786183a199774a8d21e7172aaeb', 2677392, 10, 445056, 6, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', -2);
INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\xfbe5043e1b08901d0c94dd0c4d6e53c3', 2677392, 122, 445056, NULL, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', NULL);
INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x6b7b992bf0511f9d399d59198f0cfbfa', 2676096, 52, 445056, 7, true, NULL, NULL, NULL, 6);
INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x35b388ac01f84668d45b13a34f0c576c', 2677968, 141, 445056, NULL, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', NULL);


--
-- PostgreSQL database dump complete
--

