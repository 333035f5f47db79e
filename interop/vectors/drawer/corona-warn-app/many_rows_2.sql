INSERT INTO diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES
	('\x11b66eb41eebfa21b58463dcd406dc43', 2676384, 123, 445056, NULL, true, NULL, NULL, NULL, NULL),
	('\x9cb67786183a199774a8d21e7172aaeb', 2677392, 10, 445056, 6, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', -2),
	('\xfbe5043e1b08901d0c94dd0c4d6e53c3', 2677392, 122, 445056, NULL, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', NULL),
	('\x6b7b992bf0511f9d399d59198f0cfbfa', 2676096, 52, 445056, 7, true, NULL, NULL, NULL, 6),
	('\x35b388ac01f84668d45b13a34f0c576c', 2677968, 141, 445056, NULL, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', NULL)
ON CONFLICT DO NOTHING;
