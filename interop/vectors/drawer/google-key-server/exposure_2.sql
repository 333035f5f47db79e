--
-- PostgreSQL database dump
--

SET statement_timeout = 0;

COPY public.exposure (exposure_key, transmission_risk, app_package_name, regions, traveler, interval_number, interval_count, created_at, local_provenance, sync_id, health_authority_id, report_type, days_since_symptom_onset, revised_report_type, revised_at, revised_days_since_symptom_onset, revised_transmission_risk) FROM stdin;
ic5zjzGABzMWgOkKimZ++A==	\N	org.example.app	{}	f	2676384	62	2020-11-19 12:00:00+00	t	\N	1		\N	\N	\N	\N	\N
O8Kecd5/bC0qMj/CREF0wg==	7	org.example.app	{DE,FR,IT}	f	2677968	132	2020-11-19 12:00:00+00	t	\N	1	confirmed	10	\N	\N	\N	\N
lFtLPuuvboV/xCpWxSohrQ==	\N	org.example.app	{DE,FR,IT}	f	2677392	121	2020-11-19 12:00:00+00	t	\N	1	confirmed	\N	\N	\N	\N	\N
XDa5eWs0ZDxzRKW88HtFJQ==	1	org.example.app	{}	f	2676528	131	2020-11-19 12:00:00+00	t	\N	1		2	\N	\N	\N	\N
YbI+QhhfXAINlpgABf+R1Q==	\N	org.example.app	{DE,FR,IT}	f	2677536	108	2020-11-19 12:00:00+00	t	\N	1	confirmed	\N	\N	\N	\N	\N
\.

