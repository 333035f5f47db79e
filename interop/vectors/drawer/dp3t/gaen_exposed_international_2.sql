--
-- PostgreSQL database dump
--

COPY public.t_gaen_exposed (pk_exposed_id, key, rolling_start_number, rolling_period, received_at, report_type, days_since_onset_of_symptoms, origin, batch_tag, share_with_federation_gateway) FROM stdin;
1	LKJ0w77sCSgOTqATTGmuIg==	2676816	53	2020-11-19 06:00:00+00	\N	\N	\N	\N	t
2	WK2BTCTOj6PKQVSrxQIHlg==	2677680	118	2020-11-19 06:00:00+00	CONFIRMED_TEST	6	DE	\N	t
3	OghJXrOfuVauPdO5JO3kJw==	2676528	46	2020-11-19 06:00:00+00	CONFIRMED_TEST	\N	DE	\N	t
4	pv/hPSsTo2ltXSsGxM4Jag==	2676240	40	2020-11-19 06:00:00+00	\N	11	\N	\N	t
5	IXAoF1Ko/GMbctWTDMtCPw==	2676096	105	2020-11-19 06:00:00+00	CONFIRMED_TEST	\N	DE	\N	t
\.

SELECT pg_catalog.setval('public.t_gaen_exposed_pk_exposed_id_seq', 5, true);
