INSERT INTO diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES
	('\xbc1d5d15c8f57a913f86e7edd0dfc7bf', 2676384, 144, 445056, 5, true, 'ES', '{AT,DK}', 'SELF_REPORT', 6),
	('\x07975e1f6bb5196cbc71bf2764d5ae7c', 2677248, 144, 445056, 3, true, 'IT', '{AT,DK}', 'CONFIRMED_CLINICAL_DIAGNOSIS', 2),
	('\x35e39f86d4bc0a1b2c8433b188137d32', 2676960, 144, 445056, 7, true, 'DE', '{BE,DK}', 'SELF_REPORT', 9),
	('\x0e49d65b2c048de51e8d923d76201dc4', 2676816, 144, 445056, 2, true, 'IT', '{AT,DK}', 'SELF_REPORT', 4),
	('\x794c59d9e7f81e268803c852a562d243', 2677536, 144, 445056, 5, true, 'ES', '{AT,DK}', 'CONFIRMED_TEST', 11),
	('\x79aa7e5f28961a0911140277ee6a6fe6', 2677392, 144, 445056, 6, true, 'IT', '{AT,DK}', 'CONFIRMED_TEST', 8),
	('\x5d496326522f8d503a19f22908c688e5', 2676240, 144, 445056, 2, true, 'ES', '{BE,DK}', 'CONFIRMED_TEST', 11),
	('\x904e348d97517a342bc70b5118bdb85c', 2677392, 144, 445056, 7, true, 'PL', '{BE,DK}', 'CONFIRMED_CLINICAL_DIAGNOSIS', 9),
	('\xaab0f4d67ee847364401024859cedf8b', 2677968, 144, 445056, 2, true, 'ES', '{AT,DK}', 'REVOKED', -1)
ON CONFLICT DO NOTHING;
