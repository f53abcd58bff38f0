"""A project as one static HTML page, for people. It loads nothing, runs nothing and can be sent by mail."""

from alma.report.page import html_report, is_report

__all__ = ["html_report", "is_report"]
