#!/bin/sh
# Installs the browser that tests/browser drives, on Debian, if it is missing and this user may.
# Without one those tests are waived, and say so: this script never fails.
found() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }
found && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing chromium and chromium-driver for tests/browser"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends chromium chromium-driver; } >/dev/null 2>&1
fi
found || echo "tests/browser is waived: apt-get install chromium chromium-driver"
exit 0
