"""
Certificates for the TLS of one cluster of Dask, by an authority that is for this cluster alone.

Dask asks only whether a certificate is the authority's. Whoever has one is let in, whatever its
name and host. So the authority's key is never written: nobody can add a certificate later.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.extras import packages_for

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ROLES = ("scheduler", "worker", "client")
"""Those of Dask's configuration: each has a certificate of its own."""
AUTHORITY = "ca.pem"
_AUTHORITY_NAME = "isthmus fleet"
# Clocks differ: to a machine whose clock is late, a certificate of now would be one of the future.
_LATE_CLOCKS = timedelta(days=1)


def make_certificates(days: int) -> Mapping[str, bytes]:
    """
    Make an authority and a certificate for each role.

    Args:
        days: How long they are valid from now on; also for clocks that are up to a day late.

    Returns:
        Files by name, in PEM: "ca.pem" has the authority's certificate, "ROLE.pem" a role's key
        (P-256) and its certificate.

    Raises:
        Unavailable: The package `cryptography` isn't installed.
    """
    check_cryptography()
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    now = datetime.now(UTC)
    times = (now - _LATE_CLOCKS, now + timedelta(days=days))
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate(_AUTHORITY_NAME, authority_key, authority_key, times)
    files = {AUTHORITY: authority.public_bytes(Encoding.PEM)}
    for role in ROLES:
        key = ec.generate_private_key(ec.SECP256R1())
        found = _certificate(role, key, authority_key, times)
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        files[f"{role}.pem"] = private + found.public_bytes(Encoding.PEM)
    return files


def dask_lines(folder: Path) -> str:
    """Write the lines of Dask's configuration (YAML) that use the certificates in a folder."""
    import json

    def quoted(name: str) -> str:
        # A string of JSON is one of YAML.
        return json.dumps(str(folder.absolute() / name), ensure_ascii=False)

    roles = "".join(f"      {role}:\n        cert: {quoted(f'{role}.pem')}\n" for role in ROLES)
    return (
        "distributed:\n"
        "  comm:\n"
        "    require-encryption: true\n"
        "    tls:\n"
        "      min-version: 1.3\n"
        f"      ca-file: {quoted(AUTHORITY)}\n"
        f"{roles}"
    )


def check_cryptography() -> None:
    """
    Check early whether certificates can be made.

    Raises:
        Unavailable: They can't.
    """
    with packages_for("certificates", "pip install 'isthmus[scale]'"):
        import cryptography.x509  # noqa: F401 - only whether it is there


def _certificate(
    name: str,
    key: "EllipticCurvePrivateKey",
    authority_key: "EllipticCurvePrivateKey",
    times: tuple[datetime, datetime],
) -> "x509.Certificate":
    """Sign a certificate; if both keys are the same, it is the authority's own."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import ExtendedKeyUsageOID

    is_authority = key is authority_key
    builder = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(_AUTHORITY_NAME))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(times[0])
        .not_valid_after(times[1])
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(_usage(is_authority=is_authority), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
    )
    if not is_authority:
        # Schedulers and workers call each other, and are called.
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    return builder.sign(authority_key, SHA256())


def _named(name: str) -> "x509.Name":
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*, is_authority: bool) -> "x509.KeyUsage":
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )
