// The controls below the picture: play, seek with a preview, volume, full screen, and the keyboard. They use only the media
// element, not the player library.

const element = (id) => document.getElementById(id);

export function clockText(seconds) {
  const whole = Math.max(0, Math.floor(Number.isFinite(seconds) ? seconds : 0));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const shown = parts[0] > 0 ? parts : parts.slice(1);
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

/** Seconds buffered after the current position. */
export function bufferedAhead(video) {
  for (let index = 0; index < video.buffered.length; index += 1) {
    const isHere = video.buffered.start(index) <= video.currentTime + 0.1;
    if (isHere && video.buffered.end(index) >= video.currentTime) return video.buffered.end(index) - video.currentTime;
  }
  return 0;
}

/** @param pictureAt returns the storyboard tile at a time in seconds, or null */
export function wireControls(video, { pictureAt }) {
  const stage = element('stage');
  const seek = element('seek');
  let isScrubbing = false;

  const toggle = () => (video.paused ? video.play().catch(() => showState()) : video.pause());
  const showState = () => {
    const isPlaying = !video.paused && !video.ended;
    stage.dataset.state = isPlaying ? 'playing' : stage.dataset.state === 'empty' ? 'empty' : 'paused';
    element('play').setAttribute('aria-label', isPlaying ? 'Pause' : 'Play');
    element('big-play').hidden = isPlaying || stage.dataset.state !== 'paused' || !element('message').hidden;
  };
  const showTime = () => {
    const duration = Number.isFinite(video.duration) ? video.duration : 0;
    seek.max = String(duration);
    if (!isScrubbing) seek.value = String(video.currentTime);
    seek.setAttribute('aria-valuetext', `${clockText(video.currentTime)} of ${clockText(duration)}`);
    const percentOf = (time) => `${duration > 0 ? Math.min(100, (100 * time) / duration) : 0}%`;
    seek.style.setProperty('--played', percentOf(isScrubbing ? Number(seek.value) : video.currentTime));
    seek.style.setProperty('--buffered', percentOf(video.currentTime + bufferedAhead(video)));
    element('now').textContent = clockText(isScrubbing ? Number(seek.value) : video.currentTime);
    element('duration').textContent = clockText(duration);
  };
  const showVolume = () => {
    element('mute').setAttribute('aria-pressed', String(video.muted || video.volume === 0));
    element('volume').value = String(video.muted ? 0 : video.volume);
    element('volume').style.setProperty('--played', `${100 * Number(element('volume').value)}%`);
  };

  for (const id of ['play', 'big-play']) element(id).addEventListener('click', toggle);
  video.addEventListener('click', toggle);
  for (const name of ['play', 'playing', 'pause', 'ended', 'emptied']) video.addEventListener(name, showState);
  for (const name of ['timeupdate', 'durationchange', 'progress', 'seeked', 'emptied'])
    video.addEventListener(name, showTime);
  video.addEventListener('volumechange', showVolume);

  seek.addEventListener('input', () => {
    isScrubbing = true;
    showTime();
  });
  seek.addEventListener('change', () => {
    isScrubbing = false;
    video.currentTime = Number(seek.value);
  });
  element('mute').addEventListener('click', () => (video.muted = !video.muted));
  element('volume').addEventListener('input', () => {
    video.volume = Number(element('volume').value);
    video.muted = video.volume === 0;
  });
  element('fullscreen').addEventListener('click', () => {
    if (document.fullscreenElement) void document.exitFullscreen();
    else if (stage.requestFullscreen) void stage.requestFullscreen();
    // iPhones support full screen for the video element only.
    else video.webkitEnterFullscreen?.();
  });
  wireScrubTip(video, seek, pictureAt);
  wireKeys(video, toggle);
  showVolume();

  return {
    showState,
    enable(isEnabled) {
      seek.disabled = !isEnabled;
      element('play').disabled = !isEnabled;
    },
  };
}

function wireScrubTip(video, seek, pictureAt) {
  const tip = element('scrub-tip');
  const picture = element('scrub-picture');
  let lookups = 0;
  seek.addEventListener('pointermove', async (event) => {
    if (seek.disabled || !Number.isFinite(video.duration)) return;
    const { left, width } = seek.getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - left) / width));
    const time = share * video.duration;
    tip.hidden = false;
    tip.style.left = `${share * width}px`;
    element('scrub-time').textContent = clockText(time);
    const lookup = (lookups += 1);
    const tile = await pictureAt(time).catch(() => null);
    // The pointer has moved meanwhile.
    if (lookup !== lookups) return;
    picture.hidden = tile === null;
    if (tile !== null) showTile(picture, tile);
  });
  seek.addEventListener('pointerleave', () => {
    lookups += 1;
    tip.hidden = true;
  });
}

function showTile(picture, { uri, positionX, positionY, width, height, imageWidth, imageHeight }) {
  const scale = 160 / width;
  Object.assign(picture.style, {
    width: '160px',
    height: `${height * scale}px`,
    backgroundImage: `url(${JSON.stringify(uri)})`,
    backgroundPosition: `${-positionX * scale}px ${-positionY * scale}px`,
    backgroundSize: `${imageWidth * scale}px ${imageHeight * scale}px`,
  });
}

function wireKeys(video, toggle) {
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, select, textarea, button');
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !Number.isFinite(video.duration)) return;
    const actions = {
      ' ': toggle,
      k: toggle,
      ArrowLeft: () => (video.currentTime -= 5),
      ArrowRight: () => (video.currentTime += 5),
      m: () => (video.muted = !video.muted),
      f: () => element('fullscreen').click(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    void action();
  });
}
