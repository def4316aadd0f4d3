# The images of the actions. Three targets: `publish` (slim Python, for a job that only publishes), `cpu` (the same with
# the embedded llama.cpp and what the library's tasks need) and `gpu` (vLLM's own image).
#
#   docker build --target cpu -t accgate:cpu .
#
# It needs no root at run time and takes any uid: docker run --user 12345:12345 --cap-drop ALL ... accgate:cpu --help
# The classic builder makes the stages in order: the smaller an image, the earlier it comes.
ARG PYTHON_IMAGE=python:3.11-slim-bookworm@sha256:b18992999dbe963a45a8a4da40ac2b1975be1a776d939d098c647482bcad5cba
ARG VLLM_IMAGE=vllm/vllm-openai:v0.32.0

FROM ${PYTHON_IMAGE} AS base
ARG PYTHON_IMAGE
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG REPOSITORY=org/accgate
LABEL org.opencontainers.image.title="accgate" \
      org.opencontainers.image.source="https://github.com/${REPOSITORY}" \
      org.opencontainers.image.documentation="https://github.com/${REPOSITORY}/blob/main/docs/action.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${PYTHON_IMAGE}"
# Any uid may write to the home and cache folders; the sticky bit keeps each one's files.
RUN mkdir -p /cache/huggingface /home/accgate /work \
 && chmod 1777 /cache /cache/huggingface /home/accgate /work
# A uid without a passwd entry has no name: getpass.getuser() takes it from USER.
ENV PATH=/opt/accgate/bin:$PATH \
    PYTHONSAFEPATH=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/home/accgate \
    USER=accgate \
    LOGNAME=accgate \
    XDG_CACHE_HOME=/cache \
    HF_HOME=/cache/huggingface
WORKDIR /work
USER 10001:10001
HEALTHCHECK NONE
ENTRYPOINT ["accgate"]
CMD ["--help"]

FROM ${PYTHON_IMAGE} AS tools
WORKDIR /src
# What builds wheels and installs stays apart, in a virtual environment of its own.
COPY requirements/build.txt requirements/
RUN python3 -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --no-deps --require-hashes --requirement requirements/build.txt \
 && python3 -m venv --without-pip /opt/accgate

# The dependencies first, each by its hash (`make lock`): a change of accgate's own code does not fetch them again.
FROM tools AS publish-packages
COPY requirements/publish.txt requirements/
# Of SciPy accgate uses scipy.special: its other parts, and what packages carry for compilers and tests, stay out.
RUN /opt/build/bin/pip --python /opt/accgate/bin/python install --no-cache-dir --no-compile --no-deps --require-hashes \
    --only-binary :all: --requirement requirements/publish.txt \
 && find /opt/accgate/lib/python3*/site-packages/scipy -mindepth 1 -maxdepth 1 -type d ! -name special ! -name _lib \
    -exec rm -rf {} + \
 && find /opt/accgate/lib -type d -name tests -prune -exec rm -rf {} + \
 && find /opt/accgate/lib -type f -regex '.*\.\(pyi\|pyx\|pxd\|h\|c\|f90\|a\)' -delete \
 && find /opt/accgate/bin -type f -delete \
 && /opt/accgate/bin/python -m compileall -q -j 1 /opt/accgate/lib

FROM tools AS package
COPY pyproject.toml README.md LICENSE ./
COPY accgate accgate
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .

# Nothing but what is locked is within reach, so that a lock which does not satisfy pyproject.toml ends the build.
FROM publish-packages AS publish-whole
COPY --from=package /wheels /wheels
RUN /opt/build/bin/pip --python /opt/accgate/bin/python install --no-cache-dir --no-compile --no-index \
    "accgate @ file://$(echo /wheels/accgate-*.whl)" \
 && /opt/accgate/bin/python -m compileall -q -j 1 /opt/accgate/lib/python3*/site-packages/accgate

FROM base AS publish
LABEL org.opencontainers.image.description="Publishes what accgate decided about a pull request; evaluates nothing"
COPY --from=publish-whole /opt/accgate /opt/accgate

FROM tools AS cpu-packages
COPY requirements/cpu.txt requirements/
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --require-hashes --wheel-dir /wheelhouse \
    --requirement requirements/cpu.txt
# Left out is what nothing here imports: tests, headers, commands of others, Arrow's servers, jieba's networks and tags,
# the twin of zstandard's C module.
RUN /opt/build/bin/pip --python /opt/accgate/bin/python install --no-cache-dir --no-compile --no-index --no-deps /wheelhouse/*.whl \
 && find /opt/accgate/lib -type d \( -name tests -o -path '*/pyarrow/include' -o -path '*/jieba/lac_small' -o -path '*/jieba/analyse' \
    -o -path '*/jieba/posseg' \) -prune -exec rm -rf {} + \
 && find /opt/accgate/lib -type f \( -path '*/pyarrow/*flight*' -o -path '*/zstandard/_cffi.*' \) -delete \
 && find /opt/accgate/bin -type f -delete \
 && /opt/accgate/bin/python -m compileall -q -j 1 -x '/scipy/(?!special|_lib)' /opt/accgate/lib

FROM cpu-packages AS cpu-whole
COPY --from=package /wheels /wheels
# With the extras that tasks of the library need: datasets of the hub, and the metrics' packages.
RUN /opt/build/bin/pip --python /opt/accgate/bin/python install --no-cache-dir --no-compile --no-index \
    "accgate[llamacpp,parquet,datasets,interop,metrics] @ file://$(echo /wheels/accgate-*.whl)" \
 && /opt/accgate/bin/python -m compileall -q -j 1 /opt/accgate/lib/python3*/site-packages/accgate

FROM base AS cpu
LABEL org.opencontainers.image.description="Decides by hypothesis test whether a language model's accuracy regressed; CPU"
# llama.cpp is built with OpenMP.
USER 0:0
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libgomp1 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log
COPY --from=cpu-whole /opt/accgate /opt/accgate
USER 10001:10001

FROM ${VLLM_IMAGE} AS gpu
ARG VLLM_IMAGE
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG REPOSITORY=org/accgate
LABEL org.opencontainers.image.title="accgate" \
      org.opencontainers.image.description="Decides by hypothesis test whether a language model's accuracy regressed; vLLM" \
      org.opencontainers.image.source="https://github.com/${REPOSITORY}" \
      org.opencontainers.image.documentation="https://github.com/${REPOSITORY}/blob/main/docs/action.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${VLLM_IMAGE}"
COPY requirements/build.txt requirements/gpu.txt /requirements/
COPY --from=package /wheels /wheels
# vLLM's own packages stay as they are, and the lock holds only what they lack. The second command reaches no index: it
# ends the build where something is missing or does not fit.
RUN uv pip install --system --no-cache --no-deps --require-hashes --build-constraints /requirements/build.txt \
    --requirements /requirements/gpu.txt \
 && uv pip install --system --no-cache --no-index \
    "accgate[parquet,datasets,interop,math,metrics] @ file://$(echo /wheels/accgate-*.whl)" \
 && accgate --version \
 && mkdir -p /cache/huggingface /home/accgate /work \
 && chmod 1777 /cache /cache/huggingface /home/accgate /work
ENV PYTHONSAFEPATH=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/home/accgate \
    USER=accgate \
    LOGNAME=accgate \
    XDG_CACHE_HOME=/cache \
    HF_HOME=/cache/huggingface \
    VLLM_CACHE_ROOT=/cache/vllm \
    TRITON_CACHE_DIR=/cache/triton \
    TORCHINDUCTOR_CACHE_DIR=/cache/torchinductor \
    FLASHINFER_WORKSPACE_BASE=/cache \
    VLLM_NO_USAGE_STATS=1
WORKDIR /work
USER 10001:10001
HEALTHCHECK NONE
ENTRYPOINT ["accgate"]
CMD ["--help"]
