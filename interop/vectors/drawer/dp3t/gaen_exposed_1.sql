--
-- PostgreSQL database dump
--

COPY public.t_gaen_exposed (pk_exposed_id, key, rolling_start_number, rolling_period, transmission_risk_level, received_at) FROM stdin;
1	HFrW30no7rtoSq4rTqju8Q==	2677248	144	6	2020-11-19 06:00:00+00
2	3qIjcoZ0h+HOVCJSsM4AsA==	2677536	144	8	2020-11-19 06:00:00+00
3	dYozeHc+/WSLirXjMYTmKA==	2676096	144	5	2020-11-19 06:00:00+00
4	V+DhtHPg4claetd7NMNPWA==	2676096	144	8	2020-11-19 06:00:00+00
5	xuJAzN77dvwqmd8LG1kRoQ==	2677536	144	4	2020-11-19 06:00:00+00
6	VeVFYn6O3lDD5AcEc1bWdw==	2676384	144	7	2020-11-19 06:00:00+00
\.

SELECT pg_catalog.setval('public.t_gaen_exposed_pk_exposed_id_seq', 6, true);
