#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs the documents into a folder of its own and follows their links.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
meson install -C "$1" --no-rebuild --tags doc --destdir "$folder" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
"$(dirname "$0")/installed.py" --check "$folder"
