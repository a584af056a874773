// Draws many points on a canvas, with WebGL; where that is absent, with the canvas alone.

/** Kinds of points, each drawn above the ones before it. */
export const DIMMED = 0;
export const SHOWN = 1;
export const SELECTED = 2;
const OPACITY = [0.12, 0.85, 1]; // of each kind
const RING = 1.5; // pixels around a selected point

const VERTEX_SHADER = `
  attribute vec2 place;
  attribute vec4 look;
  uniform vec2 scale, shift, size;
  uniform float diameter, ring;
  varying vec4 colour;
  varying float inner;
  void main() {
    float kind = floor(look.a * 255.0 + 0.5);
    vec2 at = (place * scale + shift) / size;
    gl_Position = vec4(2.0 * at.x - 1.0, 1.0 - 2.0 * at.y, -0.4 * kind, 1.0);
    gl_PointSize = diameter + (kind > 1.5 ? 2.0 * ring : 0.0);
    inner = kind > 1.5 ? diameter / gl_PointSize : 2.0;
    float opacity = kind < 0.5 ? ${OPACITY[DIMMED]} : kind < 1.5 ? ${OPACITY[SHOWN]} : ${OPACITY[SELECTED].toFixed(1)};
    colour = vec4(look.rgb, opacity);
  }`;
const FRAGMENT_SHADER = `
  precision mediump float;
  uniform vec3 ink;
  varying vec4 colour;
  varying float inner;
  void main() {
    float distance = 2.0 * length(gl_PointCoord - 0.5);
    if (distance > 1.0) discard;
    vec3 rgb = distance > inner ? ink : colour.rgb;
    gl_FragColor = vec4(rgb * colour.a, colour.a);
  }`;

/** `onRestored` is called when all must be set and drawn again. */
export function pointPainter(/** @type {HTMLCanvasElement} */ canvas, /** @type {() => void} */ onRestored) {
  const gl = canvas.getContext("webgl", { antialias: false });
  if (!gl) return canvasPainter(canvas);
  const painter = webglPainter(gl);
  canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
  canvas.addEventListener("webglcontextrestored", () => {
    Object.assign(painter, webglPainter(gl));
    onRestored();
  });
  return painter;
}

/** @param {WebGLRenderingContext} gl @returns {Painter} */
function webglPainter(gl) {
  const program = gl.createProgram();
  for (const [type, source] of /** @type {[number, string][]} */ ([
    [gl.VERTEX_SHADER, VERTEX_SHADER],
    [gl.FRAGMENT_SHADER, FRAGMENT_SHADER],
  ])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(type));
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  gl.enable(gl.DEPTH_TEST); // what is shown lies above what is dimmed, in one pass
  gl.depthFunc(gl.LEQUAL);
  const attribute = (/** @type {string} */ name, /** @type {number} */ width, /** @type {number} */ type) => {
    const buffer = gl.createBuffer();
    const place = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, width, type, type === gl.UNSIGNED_BYTE, 0, 0);
    return (/** @type {ArrayBufferView} */ values) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    };
  };
  const uniform = (/** @type {string} */ name) => gl.getUniformLocation(program, name);
  const [scaleAt, shiftAt, sizeAt] = ["scale", "shift", "size"].map(uniform);
  const [diameterAt, ringAt, inkAt] = ["diameter", "ring", "ink"].map(uniform);
  const fillPlaces = attribute("place", 2, gl.FLOAT);
  const fillLooks = attribute("look", 4, gl.UNSIGNED_BYTE);
  let count = 0;
  return {
    setPlaces: (x, y) => {
      count = x.length;
      const places = new Float32Array(2 * count);
      for (let i = 0; i < count; i++) {
        places[2 * i] = x[i];
        places[2 * i + 1] = y[i];
      }
      fillPlaces(places);
    },
    setLooks: fillLooks,
    draw: ({ size, scale, shift, radius, ink }) => {
      const ratio = gl.drawingBufferWidth / size[0];
      gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.uniform2fv(sizeAt, size);
      gl.uniform2fv(scaleAt, scale);
      gl.uniform2fv(shiftAt, shift);
      gl.uniform1f(diameterAt, 2 * radius * ratio);
      gl.uniform1f(ringAt, RING * ratio);
      gl.uniform3fv(
        inkAt,
        ink.map((value) => value / 255),
      );
      gl.drawArrays(gl.POINTS, 0, count);
    },
    dispose: () => gl.getExtension("WEBGL_lose_context")?.loseContext(),
  };
}

/** @param {HTMLCanvasElement} canvas @returns {Painter} */
function canvasPainter(canvas) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  /** @type {Float32Array[]} */
  let [x, y] = [new Float32Array(), new Float32Array()];
  /** @type {Uint8Array} */
  let looks = new Uint8Array();
  return {
    setPlaces: (...places) => {
      [x, y] = places;
    },
    setLooks: (some) => {
      looks = some;
    },
    draw: ({ size: [width, height], scale, shift, radius, ink }) => {
      const ratio = canvas.width / width;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      /** @type {Map<string, Path2D>} */
      const paths = new Map(); // one path for each look: much quicker than one for each point
      for (let i = 0; i < x.length; i++) {
        const left = x[i] * scale[0] + shift[0] - radius;
        const top = y[i] * scale[1] + shift[1] - radius;
        if (left < -9 || top < -9 || left > width + 9 || top > height + 9) continue;
        const [r, g, b, kind] = looks.subarray(4 * i, 4 * i + 4);
        const key = `${kind} rgb(${r}, ${g}, ${b})`;
        const path = paths.get(key) ?? new Path2D();
        paths.set(key, path);
        path.rect(left, top, 2 * radius, 2 * radius);
      }
      for (const [key, path] of [...paths].sort(([one], [other]) => (one < other ? -1 : 1))) {
        const kind = Number(key[0]);
        context.globalAlpha = OPACITY[kind];
        context.fillStyle = key.slice(2);
        context.fill(path);
        context.lineWidth = RING;
        context.strokeStyle = `rgb(${ink.join(", ")})`;
        if (kind === SELECTED) context.stroke(path);
      }
    },
    dispose: () => {},
  };
}
