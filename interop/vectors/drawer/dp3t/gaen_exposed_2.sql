--
-- PostgreSQL database dump
--

COPY public.t_gaen_exposed (pk_exposed_id, key, rolling_start_number, rolling_period, transmission_risk_level, received_at) FROM stdin;
1	u5O9x5PU2xAeRnL+elT6Lg==	2676240	141	0	2020-11-19 06:00:00+00
2	AGbJOHnoHcmu1HwPPHHn6g==	2677680	61	6	2020-11-19 06:00:00+00
3	1gMHDHMSNMpa8JlN4IxGmg==	2677104	131	0	2020-11-19 06:00:00+00
4	zllA94PGJzcKM8MEw03TeA==	2676960	117	8	2020-11-19 06:00:00+00
5	1UKhQpYTm4xBWJSbYg+GYw==	2677248	135	0	2020-11-19 06:00:00+00
\.

SELECT pg_catalog.setval('public.t_gaen_exposed_pk_exposed_id_seq', 5, true);
