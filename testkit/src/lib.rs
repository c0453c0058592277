//! Test building blocks: RoCE packets, scenarios, captures and network namespaces.
