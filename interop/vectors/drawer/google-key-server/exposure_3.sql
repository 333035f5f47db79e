--
-- PostgreSQL database dump
--

SET statement_timeout = 0;

COPY public.exposure (exposure_key, transmission_risk, app_package_name, regions, traveler, interval_number, interval_count, created_at, local_provenance, sync_id, health_authority_id, report_type, days_since_symptom_onset, revised_report_type, revised_at, revised_days_since_symptom_onset, revised_transmission_risk) FROM stdin;
TZrNXcE9eQfVnWTl06SC6w==	2	org.example.app	{BE,DK}	f	2676384	144	2020-11-19 12:00:00+00	t	\N	1	likely	3	\N	\N	\N	\N
jyoAAPeGLi5MCQEQbrTLRQ==	3	org.example.app	{AT,DK}	f	2676240	144	2020-11-19 12:00:00+00	t	\N	1	user-report	9	\N	\N	\N	\N
agIYZtWMY5A+PDaj6fxf6Q==	0	org.example.app	{AT,DK}	f	2677680	144	2020-11-19 12:00:00+00	t	\N	1	user-report	8	\N	\N	\N	\N
70uhIxAM5wXWtPhms1+jaw==	4	org.example.app	{BE,DK}	f	2676816	144	2020-11-19 12:00:00+00	t	\N	1	likely	5	\N	\N	\N	\N
eRJdIm4uHhh93k6Q1wtFbA==	2	org.example.app	{BE,DK}	f	2677968	144	2020-11-19 12:00:00+00	t	\N	1	confirmed	5	\N	\N	\N	\N
RLfYGRzziv21HJiUKji30Q==	7	org.example.app	{BE,DK}	f	2676096	144	2020-11-19 12:00:00+00	t	\N	1	user-report	11	\N	\N	\N	\N
eJpTdv72sy4Zx8FZMiRQUA==	2	org.example.app	{AT,DK}	f	2677968	144	2020-11-19 12:00:00+00	t	\N	1	likely	8	\N	\N	\N	\N
d8WsKg5z5JyYL5UaK0DFmg==	4	org.example.app	{BE,DK}	f	2676240	144	2020-11-19 12:00:00+00	t	\N	1	confirmed	0	\N	\N	\N	\N
BBHLSf5TDyFwTiljCofWig==	2	org.example.app	{AT,DK}	f	2676384	144	2020-11-19 12:00:00+00	t	\N	1	likely	8	\N	\N	\N	\N
\.

