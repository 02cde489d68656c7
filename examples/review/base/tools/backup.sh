#!/bin/sh
# Copy the database aside, once a day.
cp $1 /var/backups/shop.db
