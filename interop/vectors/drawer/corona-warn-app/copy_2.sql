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

--
-- Data for Name: diagnosis_key; Type: TABLE DATA; Schema: public; Owner: local_setup
--

COPY public.diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) FROM stdin;
\\x11b66eb41eebfa21b58463dcd406dc43	2676384	123	445056	\N	t	\N	\N	\N	\N
\\x9cb67786183a199774a8d21e7172aaeb	2677392	10	445056	6	t	DE	{DE,FR,IT}	CONFIRMED_TEST	-2
\\xfbe5043e1b08901d0c94dd0c4d6e53c3	2677392	122	445056	\N	t	DE	{DE,FR,IT}	CONFIRMED_TEST	\N
\\x6b7b992bf0511f9d399d59198f0cfbfa	2676096	52	445056	7	t	\N	\N	\N	6
\\x35b388ac01f84668d45b13a34f0c576c	2677968	141	445056	\N	t	DE	{DE,FR,IT}	CONFIRMED_TEST	\N
\.

--
-- Data for Name: federation_batch_info; Type: TABLE DATA
--

COPY public.federation_batch_info (batch_tag, date, status) FROM stdin;
2020-11-18-1	2020-11-18	PROCESSED
\.


--
-- PostgreSQL database dump complete
--

