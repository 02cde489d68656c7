"""What the user's repository contains, read safely: git, snapshots, diffs, patches, context, targets."""
