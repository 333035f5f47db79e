INSERT INTO diagnosis_key (key_data, rolling_start_interval_number, rolling_period, submission_timestamp, transmission_risk_level, consent_to_federation, origin_country, visited_countries, report_type, days_since_onset_of_symptoms) VALUES
	('\x80645439041408a706b541146882cd09', 2677392, 144, 445056, 6, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', 12),
	('\x0eb51e57e0687b7fd422f3aa604195e0', 2676960, 144, 445056, 5, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', -2),
	('\x20c2c2674403be4dffce2cfdcb1ee742', 2676096, 144, 445056, 6, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', 9),
	('\x2a8e7f522d9e355a3adcf158262b75fa', 2676528, 144, 445056, 2, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', 10),
	('\x97352f2c098775bec4e7d1ad40edbd02', 2676384, 144, 445056, 1, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', 10),
	('\x931d6790d3c6ee09d56162c757f4e230', 2676384, 144, 445056, 4, true, 'DE', '{DE,FR,IT}', 'CONFIRMED_TEST', -1)
ON CONFLICT DO NOTHING;
