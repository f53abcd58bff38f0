"""A project as one static HTML page, for people. It loads nothing, has no scripts and can be sent by mail."""

from alma_cli.report.page import html_report, is_report

__all__ = ["html_report", "is_report"]
