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
INSERT INTO `diagnosis_keys` VALUES (0x09E2EF61C20612D206DF908AEB2D76ED,2677248,144,6,445056,'302'),(0xE1378C9FCDCA705C2AA104ABE4CD6A88,2676096,144,7,445056,'302'),(0x50B5DE316D41DE6B051074643C07C335,2677392,144,2,445056,'302'),(0x7AD61F006E0D6B8F9E0A655121355F98,2677392,144,7,445056,'302'),(0x2DCEDEC84BFA9CE90B02EAFEF2DBB5F5,2677536,144,8,445056,'302'),(0xE283DB083446F4350E2EDBDB5534EBD4,2676960,144,5,445056,'302'),(0x352ACBA86662828510286230586B3F3E,2677968,144,7,445056,'302'),(0xE839D2F26C588F4F844D9C92F0E09A58,2676096,144,6,445056,'302'),(0x768B0403CFA18531FC60C6F8FDB8AD82,2676528,144,7,445056,'302');
/*!40000 ALTER TABLE `diagnosis_keys` ENABLE KEYS */;
UNLOCK TABLES;
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;

-- Dump completed on 2020-11-19 12:00:00
