"""What `keyferry convert` does, by protobuf, zipfile and csv: with_upb.py --to csv|gaen-export IN OUT"""

import csv
import sys
import zipfile

from export_pb2 import TemporaryExposureKey, TemporaryExposureKeyExport

MAGIC = b"EK Export v1    "
COLUMNS = [
    "key_data",
    "rolling_start_interval_number",
    "rolling_period",
    "transmission_risk_level",
    "report_type",
    "days_since_onset_of_symptoms",
    "revised",
    "origin",
    "visited_regions",
    "unknown_fields",
]
METADATA = ["start_timestamp", "end_timestamp", "region", "batch_num", "batch_size"]
NUMBERS = [COLUMNS[1], COLUMNS[2], COLUMNS[3], COLUMNS[5]]


def row(key, revised):
    def number(name):
        return getattr(key, name) if key.HasField(name) else ""

    return [
        key.key_data.hex(),
        number("rolling_start_interval_number"),
        number("rolling_period"),
        number("transmission_risk_level"),
        TemporaryExposureKey.ReportType.Name(key.report_type) if key.HasField("report_type") else "",
        number("days_since_onset_of_symptoms"),
        revised,
        "",
        "",
        "",
    ]


def to_csv(source, target):
    with zipfile.ZipFile(source) as archive:
        export = TemporaryExposureKeyExport.FromString(archive.read("export.bin")[len(MAGIC) :])
    with open(target, "w", newline="") as file:
        for name in METADATA:
            if export.HasField(name):
                file.write(f"# {name}={getattr(export, name)}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(row(key, "false") for key in export.keys)
        writer.writerows(row(key, "true") for key in export.revised_keys)


def is_key(cells):
    return cells[0] != COLUMNS[0] and not cells[0].startswith("#")


def fill(key, cells):
    key.key_data = bytes.fromhex(cells["key_data"])
    for name in NUMBERS:
        if cells[name]:
            setattr(key, name, int(cells[name]))
    if cells["report_type"]:
        key.report_type = TemporaryExposureKey.ReportType.Value(cells["report_type"])


def to_export(source, target):
    with open(source, newline="") as file:
        rows = sorted(set(tuple(cells) for cells in csv.reader(file) if is_key(cells)))
    export = TemporaryExposureKeyExport(batch_num=1, batch_size=1)
    for cells in (dict(zip(COLUMNS, row)) for row in rows):
        fill((export.revised_keys if cells["revised"] == "true" else export.keys).add(), cells)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export.bin", MAGIC + export.SerializeToString())


_, _, form, source, target = sys.argv
(to_csv if form == "csv" else to_export)(source, target)
