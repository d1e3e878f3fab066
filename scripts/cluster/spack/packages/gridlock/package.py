# For Spack 0.23. The sources are those of this checkout, so that no address has to be right:
#
#   spack repo add scripts/cluster/spack
#   spack dev-build --source-path . gridlock@0.1.0 ^openmpi
#
# Spack 1.0 moved the class: there, add `from spack_repo.builtin.build_systems.cargo import CargoPackage`.

from spack.package import *


class Gridlock(CargoPackage):
    """A grid model checker for labelled transition systems."""

    license("MIT OR Apache-2.0")

    version("0.1.0")

    variant("mpi", default=True, description="Search on the ranks of an MPI job")

    depends_on("c", type="build")
    depends_on("rust@1.91:", type="build")
    depends_on("mpi", when="+mpi")
    # For the bindings to the MPI library, which are made while it is built.
    depends_on("llvm+clang", type="build", when="+mpi")

    def setup_build_environment(self, env):
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["mpi"].mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    @property
    def build_directory(self):
        return join_path(self.stage.source_path, "cli")

    @property
    def build_args(self):
        return ["--locked"] + (["--features", "mpi"] if self.spec.satisfies("+mpi") else [])
