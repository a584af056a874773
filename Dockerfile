# The server of newfound, from its wheel: docs/serve.md says how it is built and started.
ARG PYTHON_VERSION=3.12

FROM python:${PYTHON_VERSION}-slim AS wheel
# Empty for pip's own package index.
ARG PIP_INDEX_URL=""
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /build \
    && /build/bin/pip install --no-cache-dir --disable-pip-version-check build \
    && /build/bin/python -m build --wheel --outdir /wheels .

FROM python:${PYTHON_VERSION}-slim AS environment
ARG PIP_INDEX_URL=""
# The index of torch's builds for CPUs. If it is empty, pip's own index is asked, whose torch may bring several GB of CUDA.
ARG TORCH_INDEX_URL=""
COPY constraints.txt /tmp/constraints.txt
COPY --from=wheel /wheels /tmp/wheels
# torch first, so that it comes from its own index.
RUN python -m venv /opt/newfound \
    && /opt/newfound/bin/pip install --no-cache-dir --disable-pip-version-check \
        ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"} "$(grep '^torch==' /tmp/constraints.txt)" \
    && /opt/newfound/bin/pip install --no-cache-dir --disable-pip-version-check \
        -c /tmp/constraints.txt "$(echo /tmp/wheels/*.whl)[serve,onnx,offline,parquet]"

FROM python:${PYTHON_VERSION}-slim
RUN groupadd --gid 10001 newfound \
    && useradd --uid 10001 --gid newfound --no-create-home --home-dir /tmp --shell /usr/sbin/nologin newfound \
    && install -d -o newfound -g newfound /model
COPY --from=environment /opt/newfound /opt/newfound
# Everything that is written besides the model folder goes to /tmp, so that the root file system can be read-only.
ENV PATH=/opt/newfound/bin:$PATH \
    HF_HUB_OFFLINE=1 \
    HOME=/tmp \
    NEWFOUND_CACHE=/tmp/newfound-cache \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /model
VOLUME /model
EXPOSE 8765
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client, sys; c = http.client.HTTPConnection('127.0.0.1', 8765, timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["newfound"]
CMD ["serve", "/model", "--host", "0.0.0.0", "--port", "8765", "--token-file", "/run/secrets/newfound_token"]
