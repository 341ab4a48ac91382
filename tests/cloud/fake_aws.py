"""A small server on this machine that answers as AWS does: EC2's query protocol in XML, and the price list in JSON."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import botocore.session
import pytest

NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"
_loader = cache(botocore.session.create_loader)  # every client would read megabytes of descriptions again
Row = tuple[str, str, str, str, str]  # timestamp, type, zone, product, price


@dataclass
class FakeAws:
    """What the server knows and what it was asked.

    rows: the price history in any order; sizes: {type: (vCPUs, MiB, gpu name, gpus)}; on_demand: USD/h by type.
    failures: errors (HTTP status, code) that the next answers are.
    """

    rows: list[Row] = field(default_factory=list)
    sizes: dict[str, tuple[int, int, str, int]] = field(default_factory=dict)
    on_demand: dict[str, str] = field(default_factory=dict)
    failures: list[tuple[int, str]] = field(default_factory=list)
    page: int = 2
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def answer(self, form: dict[str, str]) -> tuple[int, str]:
        self.asked.append(form)
        if self.failures:
            status, code = self.failures.pop(0)
            error = f"<Error><Code>{code}</Code><Message>as the test wants it</Message></Error>"
            return status, f"<Response><Errors>{error}</Errors><RequestID>1</RequestID></Response>"
        action = form["Action"]
        body = self._prices(form) if action == "DescribeSpotPriceHistory" else self._types(form)
        return 200, f'<{action}Response xmlns="{NAMESPACE}"><requestId>1</requestId>{body}</{action}Response>'

    def _prices(self, form: dict[str, str]) -> str:
        """Newest first, from StartTime on, with the price of each market that held then; `page` rows at once."""
        types, products = _listed(form, "InstanceType"), _listed(form, "ProductDescription")
        since = _time(form["StartTime"])
        rows = [row for row in self.rows if (not types or row[1] in types) and row[3] in products]
        rows.sort(key=lambda row: _time(row[0]), reverse=True)
        held: set[tuple[str, ...]] = set()
        found = []
        for row in rows:
            if _time(row[0]) >= since:
                found.append(row)
            elif row[1:4] not in held and not any(
                _time(other[0]) == since and other[1:4] == row[1:4] for other in rows
            ):
                found.append(row)
                held.add(row[1:4])
        size = min(self.page, int(form["MaxResults"]))
        first = int(form.get("NextToken") or 0)
        items = "".join(
            f"<item><instanceType>{kind}</instanceType><productDescription>{escape(product)}</productDescription>"
            f"<spotPrice>{price}</spotPrice><timestamp>{stamp}</timestamp><availabilityZone>{zone}</availabilityZone></item>"
            for stamp, kind, zone, product, price in found[first : first + size]
        )
        token = str(first + size) if first + size < len(found) else ""
        return f"<spotPriceHistorySet>{items}</spotPriceHistorySet><nextToken>{token}</nextToken>"

    def _types(self, form: dict[str, str]) -> str:
        wanted = _listed(form, "InstanceType") or list(self.sizes)
        first = int(form.get("NextToken") or 0)
        items = ""
        for name in wanted[first : first + self.page]:
            vcpus, mib, gpu, count = self.sizes[name]
            gpus = (
                f"<gpuInfo><gpus><item><name>{gpu}</name><count>{count}</count></item></gpus></gpuInfo>" if gpu else ""
            )
            items += (
                f"<item><instanceType>{name}</instanceType><vCpuInfo><defaultVCpus>{vcpus}</defaultVCpus></vCpuInfo>"
                f"<memoryInfo><sizeInMiB>{mib}</sizeInMiB></memoryInfo>{gpus}</item>"
            )
        token = f"<nextToken>{first + self.page}</nextToken>" if first + self.page < len(wanted) else ""
        return f"<instanceTypeSet>{items}</instanceTypeSet>{token}"

    def products(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The price list, one page for each product."""
        fields = {one["Field"]: one["Value"] for one in asked["Filters"]}
        names = [name for name in self.on_demand if fields.get("instanceType", name) == name]
        first = int(asked.get("NextToken") or 0)
        told: dict[str, Any] = {
            "FormatVersion": "aws_v1",
            "PriceList": [self._offer(name) for name in names[first : first + 1]],
        }
        return {**told, "NextToken": str(first + 1)} if first + 1 < len(names) else told

    def _offer(self, name: str) -> str:
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": self.on_demand[name]}}
        term = {"A.B": {"priceDimensions": {"A.B.C": dimension}}}
        return json.dumps({"product": {"attributes": {"instanceType": name}}, "terms": {"OnDemand": term}})


def _listed(form: dict[str, str], name: str) -> list[str]:
    return [value for key, value in form.items() if key.startswith(f"{name}.")]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    """A server for the block; credentials are made up, and nothing of this machine's configuration is read."""
    monkeypatch.setattr(botocore.session, "create_loader", _loader)
    fake = FakeAws()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.headers.get("X-Amz-Target", "") == "AWSPriceListService.GetProducts":
                self._send(200, json.dumps(fake.products(json.loads(body))), "application/x-amz-json-1.1")
            else:
                form = {key: values[0] for key, values in parse_qs(body).items()}
                self._send(*fake.answer(form), "text/xml;charset=UTF-8")

        def _send(self, status: int, text: str, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    without_configuration(monkeypatch)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def without_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials from anywhere, no instance metadata, no proxies."""
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_DEFAULT_REGION",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/credentials")
