--
-- PostgreSQL database dump
--

COPY public.t_gaen_exposed (pk_exposed_id, key, rolling_start_number, rolling_period, received_at, report_type, days_since_onset_of_symptoms, origin, batch_tag, share_with_federation_gateway) FROM stdin;
1	5cTBwCoKB+Y0+XnuqYBDjQ==	2677248	144	2020-11-19 06:00:00+00	SELF_REPORT	-1	ES	\N	t
2	uUTIgyExDsadTuZBZm7iFg==	2677536	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	6	DE	\N	t
3	jtebc76oSWB3INs8fwrtGw==	2677968	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	0	DE	\N	t
4	p5wfA5pFyG7FUL+Ozf+nOg==	2677392	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	6	ES	\N	t
5	Mfl+/A0ddFgghPJYUWn4zg==	2676816	144	2020-11-19 06:00:00+00	SELF_REPORT	2	IT	\N	t
6	VEYh8HuZHlbSZqLt5nZDkw==	2676672	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	-2	ES	\N	t
7	7AIfVRL+NrsPJWCS8NYKdw==	2677248	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	3	PL	\N	t
8	SK6Lkdf2iViYSLBYnmc4yw==	2677392	144	2020-11-19 06:00:00+00	REVOKED	4	IT	\N	t
9	/KkYSjXmRTbGozi0vlUGIQ==	2677968	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	10	PL	\N	t
\.

SELECT pg_catalog.setval('public.t_gaen_exposed_pk_exposed_id_seq', 9, true);
