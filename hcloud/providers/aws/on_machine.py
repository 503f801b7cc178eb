"""How a machine of AWS reads a secret with its own role."""

from __future__ import annotations

from hcloud.providers.on_machine import OnMachine

ON_MACHINE = OnMachine(
    reads="aws ssm get-parameter --with-decryption --query Parameter.Value --output text --name /{name}/{what}",
    right="ssm:GetParameter on arn:aws:ssm:*:*:parameter/{name}/* (and kms:Decrypt on a key of your own)",
    identity="live.settings.instance_profile",
    tool="aws (version 2)",
)
