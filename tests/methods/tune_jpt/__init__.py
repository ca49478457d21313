"""Tests of tune-jpt: tables, measures, intervals, crossovers, winners, ranges."""
