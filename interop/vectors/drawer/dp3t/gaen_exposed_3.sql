--
-- PostgreSQL database dump
--

COPY public.t_gaen_exposed (pk_exposed_id, key, rolling_start_number, rolling_period, transmission_risk_level, received_at) FROM stdin;
1	XVC9qIbkKesQ/5iv3YFmMg==	2676240	144	6	2020-11-19 06:00:00+00
2	6BONiaSbYVjqhqSrMRgOaQ==	2676672	144	3	2020-11-19 06:00:00+00
3	X7h3Kc4MRSaifi6+SCd5Lg==	2676384	144	0	2020-11-19 06:00:00+00
4	/ezd78qnPcWRoW0EHeO/tQ==	2677680	144	2	2020-11-19 06:00:00+00
5	xMLce7PY4V2QvuGZGlBTYQ==	2676816	144	4	2020-11-19 06:00:00+00
6	0Ys3wBdzcBrEK+b8UKRooA==	2677824	144	0	2020-11-19 06:00:00+00
7	0Snnf3hT/ltGeerdRl62Jg==	2676672	144	6	2020-11-19 06:00:00+00
8	hG8dvICaWrz1+aIL+iFnAg==	2677824	144	6	2020-11-19 06:00:00+00
9	pr3SY8hcGID/Xbn8/PdFMA==	2676528	144	1	2020-11-19 06:00:00+00
\.

SELECT pg_catalog.setval('public.t_gaen_exposed_pk_exposed_id_seq', 9, true);
