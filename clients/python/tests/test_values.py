"""What is signed, verified, read and reported without a service: `python -m unittest`."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import tempfile
import time
import unittest
from typing import Any

import httpx

from reelwright import ReelwrightError, playback_token, thumb_srcset, thumb_url, verify_webhook
from reelwright._source import Source
from reelwright.errors import error_of, unreachable

REQUEST = httpx.Request("GET", "http://service.test")


class WebhookTest(unittest.TestCase):
    """Which webhooks are genuine."""

    def verify(self, in_sec: int = 0, body: str | bytes = "{}", **more: Any) -> Any:
        sent_at = str(int(time.time()) + in_sec)
        digest = hmac.digest(b"secret", f"e.{sent_at}.{{}}".encode(), hashlib.sha256)
        signature = more.pop("others", "") + f"v1,{base64.b64encode(digest).decode()}"
        headers = {"Webhook-Id": "e", "Webhook-Timestamp": sent_at, "Webhook-Signature": signature}
        return verify_webhook(headers, body, more.pop("secret", "secret"), **more)

    def test_a_webhook_is_genuine_while_the_clocks_differ_by_less_than_the_tolerance_either_way(self) -> None:
        for in_sec in (-290, 290):
            self.assertEqual(self.verify(in_sec), {})
        for in_sec, tolerance in ((-310, 300), (310, 300), (-50, 30)):
            with self.assertRaisesRegex(ReelwrightError, "clock"):
                self.verify(in_sec, tolerance_sec=tolerance)

    def test_another_body_or_secret_is_refused_and_one_of_several_signatures_is_enough(self) -> None:
        for body, secret in (("{} ", "secret"), ("{}", "another")):
            with self.assertRaisesRegex(ReelwrightError, "invalid_signature"):
                self.verify(body=body, secret=secret)
        self.assertEqual(self.verify(others="v1,AAAA "), {})

    def test_a_webhook_without_one_of_its_headers_or_with_a_strange_time_is_refused(self) -> None:
        headers = {"webhook-id": "e", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}
        for name in headers:
            with self.assertRaisesRegex(ReelwrightError, "missing"):
                verify_webhook({**headers, name: ""}, "{}", "secret")
        for sent_at in ("soon", "1e9", "-1", "9" * 13):
            with self.assertRaisesRegex(ReelwrightError, "webhook-timestamp"):
                verify_webhook({**headers, "webhook-timestamp": sent_at}, "{}", "secret", tolerance_sec=1e30)

    def test_a_webhook_is_verified_as_bytes_and_by_the_form_of_a_secret_that_the_standard_has(self) -> None:
        standard = "whsec_" + base64.b64encode(b"secret").decode()
        self.assertEqual([self.verify(body=b"{}"), self.verify(secret=standard)], [{}, {}])


class SigningTest(unittest.TestCase):
    """What is asked of who signs."""

    def test_a_token_needs_one_end_and_an_image_address_one_secret(self) -> None:
        for ends in ({}, {"exp": 1, "expires_in_sec": 1}):
            with self.assertRaisesRegex(ValueError, "expires_in_sec"):
                playback_token("a", "secret", **ends)
        self.assertNotEqual(playback_token("a", "secret", expires_in_sec=0), playback_token("a", "secret", exp=1))
        later = playback_token("a", "secret", expires_in_sec=3600).split(".")[0]
        until = json.loads(base64.urlsafe_b64decode(later + "=="))["exp"]
        self.assertLessEqual(abs(until - time.time() - 3600), 2)
        with self.assertRaisesRegex(ValueError, "thumb_secret"):
            thumb_url("images/a.webp")


    def test_a_srcset_is_the_one_of_the_typescript_client(self) -> None:
        secret, key = "a secret of at least sixteen bytes", "images/ab/p/0123456789abcdef/t.webp"
        by_widths = thumb_srcset(
            key,
            {"w": 300, "h": 201, "fit": "cover", "gravity": "attention"},
            widths=[150, 450],
            thumb_secret=secret,
            base_url="https://m.test/",
        )
        encoded = "aW1hZ2VzL2FiL3AvMDEyMzQ1Njc4OWFiY2RlZi90LndlYnA"
        self.assertEqual(
            by_widths,
            f"https://m.test/thumb/_gg3ydM5_fyT9HrqwwDSvF-EQK3oL03vXeSwTFoFFkA/{encoded}"
            "?fit=cover&gravity=attention&h=101&w=150 150w, "
            f"https://m.test/thumb/JuTQnWz99MMoSOzN3vF6fS7P_1gmvKQf0lp9DSKxksE/{encoded}"
            "?fit=cover&gravity=attention&h=302&w=450 450w",
        )
        by_densities = thumb_srcset(key, {"w": 300}, densities=[1.0, 1.5], thumb_secret=secret)
        self.assertEqual(
            by_densities,
            f"/thumb/roFKBIDhHYdEzSc8thioMHb82EfGWJF_hGua_CgH8n0/{encoded}?dpr=1&w=300 1x, "
            f"/thumb/vwNwZBMbb1Y_J6gyLHx8aPVz4aNOV5B1TDzG2xKTfcg/{encoded}?dpr=1.5&w=300 1.5x",
        )
        for sizes in ([], [1]):
            with self.assertRaisesRegex(ValueError, "densities"):
                thumb_srcset(key, widths=sizes, densities=sizes, thumb_secret=secret)


class SourceTest(unittest.TestCase):
    """What is uploaded."""

    def test_a_file_is_named_by_its_path_and_closed_and_an_open_one_is_read_from_where_it_stands(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.mp4")
            with open(path, "wb") as file:
                file.write(b"0123456789")
            given = Source(path, None, None)
            self.assertEqual((given.name, given.size, given.read(10)), ("a.mp4", 10, b"0123456789"))
            given.close()
            self.assertRaises(ValueError, given.read, 1)
            renamed = Source(path, "b.mp4", None)
            renamed.close()
            self.assertEqual(renamed.name, "b.mp4")
            with open(path, "rb") as file:
                file.seek(4)
                rest = Source(file, None, None)
                rest.skip(2)
                self.assertEqual((rest.name, rest.size, rest.read(4)), ("a.mp4", 6, b"6789"))
                rest.close()
                self.assertFalse(file.closed)

    def test_a_pipe_needs_a_size_and_is_skipped_by_reading(self) -> None:
        reader, writer = os.pipe()
        with os.fdopen(writer, "wb") as file:
            file.write(b"0123456789")
        with os.fdopen(reader, "rb") as pipe:
            with self.assertRaisesRegex(ReelwrightError, "`size`"):
                Source(pipe, "a", None)
            source = Source(pipe, "a", 10)
            source.skip(6)
            self.assertEqual((source.read(4), Source(b"a", "a", None).size), (b"6789", 1))


class ErrorTest(unittest.TestCase):
    """What an error says."""

    def test_the_text_of_an_error_is_its_code_and_the_detail_of_the_service(self) -> None:
        faults: Any = [{"pointer": "/hash", "detail": "is empty"}]
        error = ReelwrightError("invalid_request", "hash is empty.", errors=faults)
        self.assertEqual(str(error), "invalid_request: hash is empty.")
        self.assertEqual(str(ReelwrightError("timeout", "late")), "timeout: late")

    def test_an_answer_that_is_no_problem_is_unexpected(self) -> None:
        for body in ("[]", "{}", '{"code": 1}', "null", "<p>"):
            self.assertEqual(error_of(httpx.Response(500, text=body, request=REQUEST)).code, "unexpected_answer")
        self.assertIn("ConnectError", str(unreachable("http://a", httpx.ConnectError(""))))


if __name__ == "__main__":
    unittest.main()
