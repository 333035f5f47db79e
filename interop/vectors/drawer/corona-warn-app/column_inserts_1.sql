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

INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x80645439041408a706b541146882cd09', 2677392, 144, 445056, 6, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', 12);
INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x0eb51e57e0687b7fd422f3aa604195e0', 2676960, 144, 445056, 5, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', -2);
INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x20c2c2674403be4dffce2cfdcb1ee742', 2676096, 144, 445056, 6, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', 9);
INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x2a8e7f522d9e355a3adcf158262b75fa', 2676528, 144, 445056, 2, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', 10);
INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x97352f2c098775bec4e7d1ad40edbd02', 2676384, 144, 445056, 1, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', 10);
INSERT INTO public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES ('\x931d6790d3c6ee09d56162c757f4e230', 2676384, 144, 445056, 4, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', -1);


--
-- PostgreSQL database dump complete
--

