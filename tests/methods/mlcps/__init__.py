"""Tests of MLcps: the area, its orders and weights, desirability and comparison."""
