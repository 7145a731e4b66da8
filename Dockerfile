# An image for CI: coderrr, git and certificates, and no root.
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" -t coderrr .
#   docker run --rm -v "$PWD:/workspace" -e ANTHROPIC_API_KEY coderrr run --json --plan-only "..."
#
# In a container the kernel's namespaces are usually not at hand: commands then run in
# the landlock or scratch tier. `coderrr sandbox explain` says which.
FROM golang:1.26-alpine AS build
ARG VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o /coderrr ./cmd/coderrr

FROM alpine:3
RUN apk add --no-cache ca-certificates git && adduser -D -u 1000 coderrr && mkdir /workspace && chown coderrr /workspace
COPY --from=build /coderrr /usr/local/bin/coderrr
USER coderrr
ENV CI=true
WORKDIR /workspace
ENTRYPOINT ["coderrr"]
CMD ["--help"]
