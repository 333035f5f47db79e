-- MySQL dump 10.13  Distrib 8.0.21, for Linux (x86_64)
--
-- Host: localhost    Database: covidshield
-- ------------------------------------------------------
-- Server version	8.0.21

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!50503 SET NAMES utf8mb4 */;

--
-- Table structure for table `diagnosis_keys`
--

DROP TABLE IF EXISTS `diagnosis_keys`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE `diagnosis_keys` (
  `key_data` binary(16) NOT NULL,
  `rolling_start_interval_number` int NOT NULL,
  `rolling_period` int NOT NULL,
  `transmission_risk_level` smallint unsigned NOT NULL,
  `hour_of_submission` int unsigned NOT NULL,
  `region` varchar(32) NOT NULL,
  UNIQUE KEY `key_data` (`key_data`),
  KEY `region` (`region`),
  KEY `hour_of_submission` (`hour_of_submission`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Dumping data for table `diagnosis_keys`
--

LOCK TABLES `diagnosis_keys` WRITE;
/*!40000 ALTER TABLE `diagnosis_keys` DISABLE KEYS */;
INSERT INTO `diagnosis_keys` VALUES (_binary '\rÇ%×²{³_6j\\ôÂ‰',2677680,47,0,445056,'302'),(_binary 'cöÄñ>Cƒ•½4Æ',2677104,90,3,445056,'302'),(_binary 'mÃÆpö¬Ófî<N67ÇŞ',2676672,128,0,445056,'302'),(_binary 'éö‘Ù×0óÜæ+`ç?İ™',2676672,140,3,445056,'302'),(_binary '%[´-$ IGSFZY:˜Aõ',2677104,113,0,445056,'302');
/*!40000 ALTER TABLE `diagnosis_keys` ENABLE KEYS */;
UNLOCK TABLES;
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;

-- Dump completed on 2020-11-19 12:00:00
