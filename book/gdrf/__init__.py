"""GDRF: whole virtual machines on machines of many shapes; and DRFH."""
