--
-- PostgreSQL database dump
--

SET statement_timeout = 0;

COPY public.exposure (exposure_key, transmission_risk, app_package_name, regions, traveler, interval_number, interval_count, created_at, local_provenance, sync_id, health_authority_id, report_type, days_since_symptom_onset, revised_report_type, revised_at, revised_days_since_symptom_onset, revised_transmission_risk) FROM stdin;
LBNMKK8TQMjq3hmPsbq8KA==	8	org.example.app	{DE,FR,IT}	f	2676096	144	2020-11-19 12:00:00+00	t	\N	1	confirmed	2	\N	\N	\N	\N
VYHFAXTvCb7FpxBDz9o2KA==	8	org.example.app	{DE,FR,IT}	f	2676528	144	2020-11-19 12:00:00+00	t	\N	1	confirmed	2	negative	2020-11-20 10:00:00+00	3	4
YrtpDIExDf3lTyD/EItOpQ==	3	org.example.app	{DE,FR,IT}	f	2677680	144	2020-11-19 12:00:00+00	t	\N	1	confirmed	-1	\N	\N	\N	\N
Bn0XIDNb9J4XnymMl+NRMA==	3	org.example.app	{DE,FR,IT}	f	2676240	144	2020-11-19 12:00:00+00	t	\N	1	confirmed	3	\N	\N	\N	\N
wD7Fly7Ce70tewC+54iT6g==	1	org.example.app	{DE,FR,IT}	f	2676672	144	2020-11-19 12:00:00+00	t	\N	1	confirmed	4	negative	2020-11-20 10:00:00+00	3	4
TkmUKl6etQmumOySuv247g==	2	org.example.app	{DE,FR,IT}	f	2677680	144	2020-11-19 12:00:00+00	t	\N	1	confirmed	8	\N	\N	\N	\N
\.

