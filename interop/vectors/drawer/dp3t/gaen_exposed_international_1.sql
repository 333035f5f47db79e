--
-- PostgreSQL database dump
--

COPY public.t_gaen_exposed (pk_exposed_id, key, rolling_start_number, rolling_period, received_at, report_type, days_since_onset_of_symptoms, origin, batch_tag, share_with_federation_gateway) FROM stdin;
1	N6NkxHmy8tUNGz1fMz5eUQ==	2676096	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	12	DE	\N	t
2	JtjXODTr7o4SqGAymKTUXA==	2676096	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	0	DE	\N	t
3	ruPt+dq7GOoYm2sjyj5AqA==	2676960	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	2	DE	\N	t
4	fiptxFMYIe0yIcK3anytEw==	2676960	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	7	DE	\N	t
5	FfinrZULFbMVybCW74OtcQ==	2676384	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	3	DE	\N	t
6	+xQSjZ1NmJvXmzGSaMcL+Q==	2677248	144	2020-11-19 06:00:00+00	CONFIRMED_TEST	9	DE	\N	t
\.

SELECT pg_catalog.setval('public.t_gaen_exposed_pk_exposed_id_seq', 6, true);
