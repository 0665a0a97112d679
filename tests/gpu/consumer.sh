#!/bin/sh
# Emitted headers on the first GPU: the same programs as everywhere.
exec tests/consumer.sh
